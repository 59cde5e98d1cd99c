"""Edits change the bytes they are meant to change and no others."""

from __future__ import annotations

import pytest

from sysid_ros.errors import ReleaseError
from sysid_ros.release.xml_splice import (
    apply_splices,
    insert_children,
    locate,
    remove,
    set_attributes,
)

AWKWARD = (
    b"\xef\xbb\xbf<?xml version='1.0'  encoding=\"utf-8\" ?>\r\n<!-- <link name='x'/> -->\r\n"
    b"<?editor keep?>\r\n<robot  name='r' >\r\n\t<link\tname = \"a\" />\r\n"
    b'\t<joint name="j" note="a > b and \' damping=&quot;7&quot;">\r\n'
    b"\t\t<dynamics friction='1'   damping = '2' other=\"x\"  />\r\n\t</joint>\r\n"
    b'\t<plugin><![CDATA[ <dynamics damping="9"/> ]]></plugin>\r\n</robot>\r\n<!-- end -->'
)


def test_no_edit_gives_the_same_bytes():
    locate(AWKWARD)
    assert apply_splices(AWKWARD, []) == AWKWARD


def test_attributes_keep_their_quotes_order_and_spaces():
    element = locate(AWKWARD).find('joint').find('dynamics')
    edited = apply_splices(AWKWARD, [set_attributes(
        AWKWARD, element, {'damping': '0.25', 'new': '1'}, drop=['friction'])])
    assert edited == AWKWARD.replace(
        b"<dynamics friction='1'   damping = '2' other=\"x\"  />",
        b"<dynamics   damping = '0.25' other=\"x\" new=\"1\"  />",
    )


def test_a_name_inside_another_attribute_is_not_taken_for_it():
    xml = b'<robot><joint note=" damping=\'1\' "><dynamics/></joint></robot>'
    element = locate(xml).find('joint')
    edited = apply_splices(xml, [set_attributes(xml, element, {'damping': '2'})])
    assert edited == xml.replace(b'\' ">', b'\' " damping="2">')


def test_new_elements_are_indented_like_their_surroundings():
    robot = locate(AWKWARD)
    edited = apply_splices(AWKWARD, [
        insert_children(AWKWARD, robot.find('link'), ['<inertial>\n  <mass/>\n</inertial>']),
        insert_children(AWKWARD, robot.find('joint'), ['<axis/>']),
    ])
    assert edited == AWKWARD.replace(
        b'<link\tname = "a" />',
        b'<link\tname = "a" >\r\n\t\t<inertial>\r\n\t\t\t<mass/>\r\n\t\t</inertial>\r\n\t</link>',
    ).replace(b'&quot;">\r\n', b'&quot;">\r\n\t\t<axis/>\r\n')


def test_a_document_on_one_line_stays_on_one_line():
    xml = b'<robot name="r"><link name="a"/></robot>'
    edit = insert_children(xml, locate(xml).find('link'), ['<inertial>\n  <mass/>\n</inertial>'])
    assert b'\n' not in apply_splices(xml, [edit])
    assert locate(apply_splices(xml, [edit])).find('link').find('inertial').find('mass')


def test_a_removed_element_takes_its_own_line_along():
    element = locate(AWKWARD).find('joint').find('dynamics')
    edited = apply_splices(AWKWARD, [remove(AWKWARD, element)])
    assert edited == AWKWARD.replace(
        b"\t\t<dynamics friction='1'   damping = '2' other=\"x\"  />\r\n", b'')


def test_a_removed_element_leaves_its_neighbours_on_the_line():
    xml = b'<robot>\n  <a/><b>text</b> <c/>\n</robot>'
    edited = apply_splices(xml, [remove(xml, locate(xml).find('b'))])
    assert edited == b'<robot>\n  <a/> <c/>\n</robot>'


def test_an_insertion_and_an_edit_at_the_same_place_are_both_made():
    xml = b'<robot><a x="1"/></robot>'
    robot = locate(xml)
    edits = [
        set_attributes(xml, robot.find('a'), {'x': '2'}), insert_children(xml, robot, ['<b/>'])]
    for order in (edits, edits[::-1]):
        assert apply_splices(xml, order) == b'<robot><b/><a x="2"/></robot>'


def test_overlapping_edits_are_refused():
    xml = b'<robot><a><b x="1"/></a></robot>'
    inner = locate(xml).find('a')
    edits = [remove(xml, inner), set_attributes(xml, inner.find('b'), {'x': '2'})]
    with pytest.raises(ReleaseError, match='overlap'):
        apply_splices(xml, edits)


def test_an_encoding_without_ascii_is_refused():
    with pytest.raises(ReleaseError, match='Save the description as UTF-8'):
        locate('<?xml version="1.0" encoding="utf-16"?><robot/>'.encode('utf-16'))
