"""The revision store: append-only, chained, and the same bytes back."""

import hashlib
import json
import sqlite3
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_ros.errors import ReleaseError
from sysid_ros.release import head
from sysid_ros.release.revision import (
    MAX_COMMENT,
    Content,
    Kind,
    Quality,
    Validity,
    require_successor,
)
from sysid_ros.release.store import (
    MAX_CONSUMER,
    MAX_CONSUMERS,
    BaseChangedError,
    RevisionStore,
    UnknownRevisionError,
)
from sysid_ros.robot.parameters import Parameter, ParameterSet

PARAMETERS = ParameterSet.of([
    Parameter('arm.mass', 'kg', 0.1 + 0.2, lower=0.0), Parameter('elbow.torque_offset', 'N·m')])
DESCRIPTION = '<robot name="é">\r\n\t<!-- \u2028 --></robot>'.encode() + b'\xff\x00'


def content(mass=None, estimate='', description=DESCRIPTION):
    values = PARAMETERS if mass is None else PARAMETERS.with_values({'arm.mass': mass})
    return Content(
        description + (b'' if mass is None else str(mass).encode()), values,
        hashlib.sha256(DESCRIPTION).hexdigest(), estimate, 123456789 if estimate else 0,
        'ab' * 32 if estimate else '', Quality(0.03, 0.5) if estimate else Quality(),
        ('elbow.torque_offset',) if estimate else (), ('A note.',) if estimate else (),
        Validity({'elbow': {'position': [0.0, 1.0], 'speed': 2.0}} if estimate else {}),
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'revisions.sqlite'


@pytest.fixture
def store(path):
    with RevisionStore(path) as store:
        store.begin(content())
        yield store


def alter(path, statement, values=()):
    """Change a store as somebody with an SQL shell would."""
    connection = sqlite3.connect(path, isolation_level=None)
    for trigger in ('no_update', 'no_delete', 'append_only'):
        connection.execute(f'DROP TRIGGER IF EXISTS {trigger}')
    connection.execute(statement, values)
    connection.close()


def test_the_initial_revision_is_made_once(path, store):
    first = store.current()
    assert (first.number, first.parent, first.kind, first.restored) == (1, '', Kind.INITIAL, '')
    assert store.begin(content()).id == first.id
    with RevisionStore(path) as again:
        assert again.begin(content()).id == first.id
        assert len(again) == 1


def test_revisions_of_another_robot_are_not_mixed_in(store):
    with pytest.raises(ReleaseError, match='another robot description'):
        store.begin(content(description=b'<robot name="other"/>'))


def test_a_record_without_a_range_is_that_of_earlier_versions():
    assert not {'fitted_range', 'judged_range', 'faster_motion'} & set(content().to_json())


def test_a_record_keeps_up_to_where_it_was_fitted_and_judged(path, store):
    known = Validity({'elbow': {'speed': 1.5}}, {'elbow': {'speed': 2.5}}, {'relative_error': 0.1})
    committed = store.commit(replace(content(4.2, 'fit_1'), validity=known), '')
    with RevisionStore(path) as again:
        assert again.get(committed.id).content.validity == known


def test_what_comes_back_is_what_was_committed(path, store):
    given = content(4.2, 'fit_1')
    committed = store.commit(given, '', 'first fit')
    with RevisionStore(path) as again:
        found = again.get(committed.id)
        assert found.content.same_as(given)
        assert found.content.description == given.description
        assert (found.content.parameters.values == given.parameters.values).all()
        assert (found.content.parameters.lower == given.parameters.lower).all()
        assert found.content.quality.held_out_relative_error == 0.03
        assert found.content.quality.condition_number != found.content.quality.condition_number
        assert (found.kind, found.comment, found.parent) == (
            Kind.COMMIT, 'first fit', again.initial().id)
        assert found.stamp == committed.stamp
        assert again.current().id == committed.id


def test_the_digest_is_of_everything_and_of_the_parent(store):
    revision = store.commit(content(4.2, 'fit_1'), '')
    parent = store.initial()
    expected = hashlib.sha256(
        parent.digest.encode() + b'\0' + revision.record.encode() + b'\0'
        + revision.content.description).hexdigest()
    assert revision.digest == expected
    assert revision.id == f'2-{expected[:12]}'
    for name, other in {
        'comment': 'x', 'stamp': 1, 'restored': 'x', 'kind': Kind.ROLLBACK, 'number': 3,
        'parent': 'x', 'parent_digest': 'x', 'content': content(4.3, 'fit_1'),
    }.items():
        assert replace(revision, **{name: other}).digest != expected, name
    for name, other in {
        'description': b'', 'estimate': 'x', 'estimated': 1, 'recording_sha256': 'x', 'kept': (),
        'notes': (), 'prior_sha256': 'x', 'quality': Quality(0.04),
        'parameters': PARAMETERS,
    }.items():
        changed = replace(revision.content, **{name: other})
        assert replace(revision, content=changed).digest != expected, name


def test_the_same_commit_twice_is_the_same_revision(store):
    first = store.commit(content(4.2, 'fit_1'), '')
    assert store.commit(content(4.2, 'fit_1'), '', 'again').id == first.id
    assert len(store) == 2
    assert store.commit(content(4.2, 'fit_2'), first.id).id != first.id


def test_a_commit_on_another_base_is_refused(store):
    first = store.commit(content(4.2, 'fit_1'), '')
    with pytest.raises(BaseChangedError, match='since the fit began') as refused:
        store.commit(content(4.3, 'fit_2'), '')
    assert first.id in str(refused.value)
    with pytest.raises(UnknownRevisionError):
        store.commit(content(4.3, 'fit_2'), '9-000000000000')
    assert store.commit(content(4.3, 'fit_2'), first.id).parent == first.id


def test_after_a_rollback_to_its_base_a_fit_may_be_committed(store):
    store.commit(content(4.2, 'fit_1'), '')
    store.rollback()
    assert store.commit(content(4.3, 'fit_2'), '').number == 4


def test_a_rollback_is_a_revision_with_the_same_bytes(store):
    first = store.commit(content(4.2, 'fit_1'), '')
    second = store.commit(content(4.3, 'fit_2'), first.id)
    back = store.rollback(first.id, 'it oscillates')
    assert back.kind is Kind.ROLLBACK
    assert (back.restored, back.parent, back.comment) == (first.id, second.id, 'it oscillates')
    assert back.content.description == first.content.description
    assert back.content.same_as(first.content)
    assert store.rollback().content.same_as(second.content)
    assert store.rollback(store.initial().id).content.description == DESCRIPTION
    assert store.verify() == ()


def test_a_rollback_to_an_unknown_revision_lists_what_exists(store):
    second = store.commit(content(4.2, 'fit_1'), '')
    with pytest.raises(UnknownRevisionError) as refused:
        store.rollback('2-deadbeef0000')
    assert second.id in str(refused.value)
    assert store.initial().id in str(refused.value)
    with pytest.raises(UnknownRevisionError, match='older ones'):
        for _ in range(20):
            store.rollback()
        store.rollback('x')
    assert len(store) == 22


def test_before_the_first_revision_there_is_none(store):
    with pytest.raises(UnknownRevisionError, match='before the first'):
        store.rollback()


def test_revisions_are_listed_newest_first(store):
    for k in range(3):
        store.commit(content(float(k), f'fit_{k}'), store.current().id)
    assert [revision.number for revision in store.newest()] == [4, 3, 2, 1]
    assert [revision.number for revision in store.newest(2)] == [4, 3]


def test_overlong_texts_are_refused(store):
    with pytest.raises(ReleaseError, match='comment is too long'):
        store.commit(content(4.2, 'fit_1'), '', 'x' * (MAX_COMMENT + 1))
    with pytest.raises(ReleaseError, match='sensible length'):
        store.acknowledge('x' * (MAX_CONSUMER + 1), store.current().id)
    with pytest.raises(ReleaseError, match='sensible length'):
        store.acknowledge('', store.current().id)
    assert len(store) == 1


@pytest.mark.parametrize('statement', [
    "UPDATE revisions SET record = '{}' WHERE number = 1",
    'UPDATE revisions SET number = 7',
    'DELETE FROM revisions WHERE number = 2',
    'INSERT OR REPLACE INTO revisions SELECT * FROM revisions WHERE number = 1',
    "INSERT OR REPLACE INTO revisions SELECT 3, id, 'x', digest, record, description "
    'FROM revisions WHERE number = 2',
    "INSERT INTO revisions SELECT 9, 'x', 'x', digest, record, description FROM revisions "
    'WHERE number = 2',
    "INSERT INTO revisions SELECT 3, 'x', 'x', 'y', record, description FROM revisions "
    'WHERE number = 2',
])
def test_the_file_itself_refuses_whatever_is_not_appending(path, store, statement):
    store.commit(content(4.2, 'fit_1'), '')
    connection = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(sqlite3.DatabaseError, match='append-only'):
        connection.execute(statement)
    connection.close()
    assert store.verify() == ()


@pytest.mark.parametrize(('change', 'values'), [
    ("UPDATE revisions SET record = REPLACE(record, 'fit_2', 'fit_9') WHERE number = 3", ()),
    ('UPDATE revisions SET description = ? WHERE number = 3', (b'<robot/>',)),
    ("UPDATE revisions SET record = X'00FF' WHERE number = 3", ()),
    ("UPDATE revisions SET digest = 'x' WHERE number = 3", ()),
    ("UPDATE revisions SET id = '3-x' WHERE number = 3", ()),
])
def test_an_altered_revision_is_named_and_not_handed_out(path, store, change, values):
    ids = [store.current().id]
    for k in range(1, 4):
        ids.append(store.commit(content(float(k), f'fit_{k}'), ids[-1]).id)
    alter(path, change, values)
    problems = store.verify()
    assert len(problems) == 1
    assert problems[0].startswith('Revision 3 was altered')
    with pytest.raises(ReleaseError):
        store.get(ids[2])
    assert store.get(ids[1]).content.estimate == 'fit_1'
    assert store.current().content.estimate == 'fit_3'


def test_a_forged_revision_does_not_fit_the_chain(path, store):
    """Somebody who recomputes one revision's digest cannot recompute its successors'."""
    second = store.commit(content(4.2, 'fit_1'), '')
    store.commit(content(4.3, 'fit_2'), second.id)
    forged = replace(second, comment='forged')
    alter(
        path, 'UPDATE revisions SET id = ?, digest = ?, record = ? WHERE number = 2',
        (forged.id, forged.digest, forged.record))
    problems = store.verify()
    assert len(problems) == 1
    assert problems[0].startswith('Revision 3-')
    assert 'does not follow' in problems[0]


def test_an_index_that_lists_what_is_not_there_is_damage(path):
    with RevisionStore(path) as store:
        store.begin(content())
        second = store.commit(content(4.2, 'fit_1'), '').id.encode()
    intact = path.read_bytes()
    # In the index of the ids the number of the row follows the id.
    path.write_bytes(intact.replace(second + b'\x02', second + b'\x07'))
    assert path.read_bytes() != intact
    with RevisionStore(path) as damaged:
        problems = damaged.verify()
    assert any('The file is damaged' in problem for problem in problems)


def test_a_listed_revision_that_cannot_be_found_is_damage(store, monkeypatch):
    store.commit(content(4.2, 'fit_1'), '')
    rows = store._file.rows
    monkeypatch.setattr(store._file, 'rows', lambda statement, values=(): (
        [] if values == (2,) else rows(statement, values)))
    assert [problem for problem in store.verify() if 'not to be found' in problem]


def test_words_of_the_file_that_are_no_text_are_one_clear_error(path):
    with RevisionStore(path) as store:
        store.begin(content())
    path.write_bytes(path.read_bytes().replace(
        b'BEFORE UPDATE ON revisions', b'BEFORE UPDATE ON re\xf6isions'))
    with pytest.raises(ReleaseError, match='cannot be used'):
        RevisionStore(path)


def test_a_missing_revision_is_noticed(path, store):
    for k in range(1, 4):
        store.commit(content(float(k), f'fit_{k}'), store.current().id)
    store.acknowledge('/controller', store.current().id)
    alter(path, 'DELETE FROM revisions WHERE number = 2')
    assert any('Revision 2 is missing' in problem for problem in store.verify())
    alter(path, 'DELETE FROM revisions WHERE number = 4')
    assert any('/controller runs, is missing' in problem for problem in store.verify())


def with_three(path):
    with RevisionStore(path) as store:
        store.begin(content())
        second = store.commit(content(4.2, 'fit_1'), '')
        third = store.commit(content(4.3, 'fit_2'), second.id)
    return second, third


def test_80_a_newest_revision_that_was_cut_off_is_missed_at_the_next_start(path):
    _, third = with_three(path)
    alter(path, 'DELETE FROM revisions WHERE number = 3')
    with RevisionStore(path) as store:
        problem, = store.verify()
    assert f'Revision {third.id} was handed out, and it is missing' in problem


def test_80_an_older_copy_of_the_file_is_told_from_the_newest(path):
    with RevisionStore(path) as store:
        store.begin(content())
    before = path.read_bytes()
    with_three(path)
    path.write_bytes(before)
    with RevisionStore(path) as store:
        problem, = store.verify()
        assert 'remove revisions.sqlite-head' in problem
    path.with_name('revisions.sqlite-head').unlink()
    with RevisionStore(path) as store:
        assert store.verify() == ()


def test_80_a_newest_revision_that_was_rewritten_with_right_digests_is_found(path):
    _, third = with_three(path)
    forged = replace(third, comment='forged')
    alter(
        path, 'UPDATE revisions SET id = ?, digest = ?, record = ? WHERE number = 3',
        (forged.id, forged.digest, forged.record))
    with RevisionStore(path) as store:
        problem, = store.verify()
    assert f'Revision {third.id} was handed out, and another one is in its place' in problem


def test_80_a_note_that_a_process_died_before_writing_is_made_up_for(path, monkeypatch):
    with RevisionStore(path) as store:
        store.begin(content())
        monkeypatch.setattr(store._head, 'note', lambda number, digest: None)
        second = store.commit(content(4.2, 'fit_1'), '')
    with RevisionStore(path) as store:
        assert store.verify() == ()
        store.begin(content())
        assert store._head.noted() == (2, second.digest)


def test_80_a_commit_stands_where_the_note_cannot_be_written(path, monkeypatch):
    def full(path, data):
        raise ReleaseError('no space left')

    with RevisionStore(path) as store:
        store.begin(content())
        monkeypatch.setattr(head, 'write_atomically', full)
        second = store.commit(content(4.2, 'fit_1'), '')
        assert store.current().id == second.id
        assert store._head.noted()[0] == 1
        assert store.verify() == ()


def test_80_nothing_is_put_on_top_of_a_store_that_lost_its_newest_revision(path):
    second, third = with_three(path)
    alter(path, 'DELETE FROM revisions WHERE number = 3')
    with RevisionStore(path) as store:
        for change in (
            lambda: store.commit(content(4.4, 'fit_3'), second.id), store.rollback,
            lambda: store.require_base(second.id), store.current,
        ):
            with pytest.raises(ReleaseError, match=f'{third.id} was handed out, and it is missing'):
                change()
        assert store._head.noted() == (3, third.digest)


@pytest.mark.parametrize('least', [3, 1])
def test_80_to_begin_again_does_not_forget_what_was_cut_off(path, least):
    _, third = with_three(path)
    alter(path, f'DELETE FROM revisions WHERE number >= {least}')
    with RevisionStore(path) as store:
        length = len(store)
        with pytest.raises(ReleaseError, match=f'{third.id} was handed out, and it is missing'):
            store.begin(content())
        assert len(store) == length
        assert store._head.noted() == (3, third.digest)
        assert f'Revision {third.id} was handed out' in ' '.join(store.verify())


def test_80_a_note_of_a_newer_revision_is_not_replaced_by_an_older_one(path):
    second, third = with_three(path)
    with RevisionStore(path) as store:
        store._head.note(second.number, second.digest)
        assert store._head.noted() == (3, third.digest)


def test_80_a_revision_that_was_handed_out_without_a_note_is_missed(path):
    _, third = with_three(path)
    path.with_name('revisions.sqlite-head').unlink()
    alter(path, 'DELETE FROM revisions WHERE number = 3')
    with RevisionStore(path) as store:
        assert store.cut_off() == ()
        problem, = store.cut_off(third.id)
    assert f'Revision {third.id} was handed out, and it is missing' in problem


def test_80_a_store_that_is_replaced_while_it_is_open_is_noticed(path):
    with_three(path)
    copy = path.with_name('copy.sqlite')
    copy.write_bytes(path.read_bytes())
    with RevisionStore(path) as store:
        assert store.cut_off() == ()
        copy.replace(path)
        with pytest.raises(ReleaseError, match='replaced or removed while it was open'):
            store.current()
        path.unlink()
        assert 'replaced or removed' in ' '.join(store.cut_off())


@pytest.mark.parametrize(('offered', 'running', 'may'), [
    ('1-ab', '', True), ('own', '', True), ('3-ab', '2-cd', True), ('10-ab', '9-cd', True),
    ('3-ab', '3-ab', True), ('2-ab', '3-cd', False), ('3-ab', '3-cd', False),
    # Ids that are not those of a store say nothing of an order.
    ('own', '3-cd', True), ('', '1-ab', True), ('²-ab', '1-cd', True), ('1-ab', 'own', True),
    ('9' * 5000 + '-ab', '1-cd', True),
])
def test_80_only_a_higher_number_follows(offered, running, may):
    if may:
        require_successor(offered, running)
    else:
        with pytest.raises(ReleaseError, match=f'{offered}.*after {running}'):
            require_successor(offered, running)


@pytest.mark.parametrize('text', ['', '[]', '{}', '{"number": "1", "digest": ""}', '\xff' * 20_000])
def test_80_a_damaged_note_is_one_clear_sentence(path, text):
    with_three(path)
    path.with_name('revisions.sqlite-head').write_text(text)
    with RevisionStore(path) as store:
        problem, = store.verify()
    assert 'note of the newest revision cannot be read' in problem


def test_acknowledgements_stand_beside_the_chain(path, store):
    first = store.initial().id
    second = store.commit(content(4.2, 'fit_1'), '').id
    store.acknowledge('/controller', first)
    store.acknowledge('/logger', second)
    store.acknowledge('/controller', second)
    with pytest.raises(UnknownRevisionError):
        store.acknowledge('/controller', 'nothing')
    with RevisionStore(path) as again:
        assert again.acknowledgements() == {'/controller': second, '/logger': second}
        assert len(again) == 2
        assert again.verify() == ()


def test_consumers_are_not_remembered_without_end(store):
    name = store.current().id
    with store._file.writing():
        for k in range(MAX_CONSUMERS):
            store._file.rows('INSERT INTO acknowledgements VALUES (?, ?, 0)', (f'/c{k}', name))
    with pytest.raises(ReleaseError, match='too many consumers'):
        store.acknowledge('/one_more', name)
    store.acknowledge('/c0', name)


def test_a_record_is_plain_json_without_a_number_that_json_does_not_know(store):
    record = store.commit(content(4.2, 'fit_1'), '').record
    assert json.loads(record)['content']['quality']['condition_number'] is None
    assert 'NaN' not in record


# Changes of one revision of those that a store holds, as somebody with an SQL shell makes them.
TAMPERING = {
    'removed': 'DELETE FROM revisions WHERE number = {}',
    'description': "UPDATE revisions SET description = description || x'20' WHERE number = {}",
    'record': "UPDATE revisions SET record = record || ' ' WHERE number = {}",
    'digest': "UPDATE revisions SET digest = replace(digest, substr(digest, 1, 4), 'zzzz') "
              'WHERE number = {}',
    'id': "UPDATE revisions SET id = id || 'x' WHERE number = {}",
    'parent': "UPDATE revisions SET parent_digest = 'ab' || parent_digest WHERE number = {}",
    'renumbered': 'UPDATE revisions SET number = 1000 WHERE number = {}',
}


@pytest.mark.slow
@given(
    st.lists(st.none() | st.integers(0, 5), max_size=5), st.sampled_from([None, *TAMPERING]),
    st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_80_whatever_was_committed_is_sound_until_any_revision_is_changed(history, how, which):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'revisions.sqlite'
        with RevisionStore(path) as store:
            store.begin(content())
            for number, step in enumerate(history):
                names = [revision.id for revision in store.newest()]
                if step is None:
                    store.commit(content(mass=1.0 + number), store.current_id())
                else:
                    store.rollback(names[step % len(names)])
            count, newest = len(store), store.current()
            assert count == 1 + len(history)
            assert store.verify() == ()
        if how is not None:
            alter(path, TAMPERING[how].format(1 + which % count))
        with RevisionStore(path) as store:
            assert bool(store.verify()) is (how is not None)
            if how is None:
                assert store.current().content.same_as(newest.content)
