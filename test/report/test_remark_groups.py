from sysid_ros.report.remark_groups import grouped_remarks


def test_remarks_that_differ_in_joint_and_number_are_one_group():
    groups = grouped_remarks(
        ['elbow used 3 % of its range.', 'The clock is odd.', 'wrist used 4.5 % of its range.'],
        ('elbow', 'wrist'))
    assert groups == (
        ('elbow used 3 % of its range.', 'wrist used 4.5 % of its range.'), ('The clock is odd.',))


def test_the_same_remark_is_said_once():
    assert grouped_remarks(['a b', 'a b'], ()) == (('a b',),)


def test_a_joint_whose_name_is_part_of_another_is_not_mistaken_for_it():
    groups = grouped_remarks(['arm is slow', 'arm_2 is slow', 'forearm is slow'], ('arm', 'arm_2'))
    assert groups == (('arm is slow', 'arm_2 is slow'), ('forearm is slow',))


def test_names_with_signs_of_patterns_are_plain_names():
    assert grouped_remarks(['a(b is slow', 'c[ is slow'], ('a(b', 'c[')) == (
        ('a(b is slow', 'c[ is slow'),)
