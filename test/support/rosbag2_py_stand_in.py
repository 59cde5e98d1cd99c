"""Stands for ``rosbag2_py`` with a storage of its own, ``lines``: a message is a line of JSON.

Only what this package calls is there, with the names and kinds of arguments of the distributions
from Jazzy on: arguments that have no name there are positional here.
"""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from types import SimpleNamespace

import yaml

STORAGES = {'lines'}
ABOUT = 'rosbag2_bagfile_information'


def get_registered_readers():
    return set(STORAGES)


def get_registered_writers():
    return set(STORAGES)


class StorageOptions:
    def __init__(
        self, uri, storage_id='', max_bagfile_size=0, max_bagfile_duration=0, max_cache_size=0,
        storage_preset_profile='', storage_config_uri='', snapshot_mode=False, start_time_ns=-1,
        end_time_ns=-1, custom_data=None,
    ):
        self.uri, self.storage_id = uri, storage_id


class ConverterOptions:
    def __init__(self, input_serialization_format='', output_serialization_format=''):
        self.input_serialization_format = input_serialization_format
        self.output_serialization_format = output_serialization_format


class StorageFilter:
    def __init__(
        self, topics=(), services_events=(), regex='', exclude_topics=(),
        exclude_service_events=(), regex_to_exclude='',
    ):
        self.topics = list(topics)


class TopicMetadata:
    def __init__(
        self, id, name, type, serialization_format,  # noqa: A002 (so it is called)
        offered_qos_profiles=(), type_description_hash='',
    ):
        self.id, self.name, self.type = id, name, type
        self.serialization_format = serialization_format


class SequentialReader:
    unpacked = staticmethod(bytes)

    def __init__(self):
        self._messages = None

    def open(self, arg0, arg1, /):
        if arg0.storage_id not in STORAGES or not isinstance(arg0.uri, str):
            raise RuntimeError('No storage could be initialized. Abort.')
        assert (arg1.input_serialization_format, arg1.output_serialization_format) == (
            'cdr', 'cdr')
        self._about = yaml.safe_load((Path(arg0.uri) / 'metadata.yaml').read_text())[ABOUT]
        self._messages = []
        for name in self._about['relative_file_paths']:
            text = self.unpacked((Path(arg0.uri) / name).read_bytes()).decode()
            self._messages += [json.loads(line) for line in text.splitlines()]
        self._next, self._topics = 0, None

    def get_metadata(self):
        self._require_open()
        topics = [
            SimpleNamespace(
                message_count=item['message_count'],
                topic_metadata=SimpleNamespace(**item['topic_metadata']))
            for item in self._about['topics_with_message_count']]
        start = self._about['starting_time']['nanoseconds_since_epoch']
        # Those of rclpy have the same attribute.
        return SimpleNamespace(
            topics_with_message_count=topics,
            starting_time=SimpleNamespace(nanoseconds=start),
            duration=SimpleNamespace(nanoseconds=self._about['duration']['nanoseconds']))

    def set_filter(self, arg0, /):
        self._require_open()
        self._topics = arg0.topics

    def seek(self, arg0, /):
        self._require_open()
        self._next = next(
            (k for k, message in enumerate(self._messages) if message[1] >= arg0),
            len(self._messages))

    def has_next(self):
        self._require_open()
        while self._next < len(self._messages) and self._topics is not None and (
            self._messages[self._next][0] not in self._topics
        ):
            self._next += 1
        return self._next < len(self._messages)

    def read_next(self):
        if not self.has_next():
            raise RuntimeError('Bag is at end. No next message.')
        topic, received, data = self._messages[self._next]
        self._next += 1
        return topic, base64.b64decode(data), received

    def _require_open(self):
        if self._messages is None:
            raise RuntimeError('Bag is not open. Call open() before reading.')


class SequentialCompressionReader(SequentialReader):
    unpacked = staticmethod(zlib.decompress)


class SequentialWriter:
    def __init__(self):
        self._folder = None

    def open(self, arg0, arg1, /):
        if arg0.storage_id not in STORAGES:
            raise RuntimeError('No storage could be initialized. Abort.')
        self._folder, self._storage = Path(arg0.uri), arg0.storage_id
        self._folder.mkdir()
        self._topics, self._messages = {}, []

    def create_topic(self, arg0, /):
        self._topics[arg0.name] = arg0

    def write(self, arg0, arg1, arg2, /):
        if arg0 not in self._topics:
            raise RuntimeError(f'Topic {arg0} has not been created yet!')
        assert isinstance(arg1, bytes) and isinstance(arg2, int)
        self._messages.append((arg0, arg2, base64.b64encode(arg1).decode()))

    def close(self):
        file = self._folder / f'{self._folder.name}_0.lines'
        file.write_text(''.join(json.dumps(message) + '\n' for message in self._messages))
        received = [message[1] for message in self._messages]
        about = {
            'version': 9, 'storage_identifier': self._storage,
            'relative_file_paths': [file.name], 'message_count': len(received),
            'compression_format': '', 'compression_mode': '',
            'starting_time': {'nanoseconds_since_epoch': min(received)},
            'duration': {'nanoseconds': max(received) - min(received)},
            'topics_with_message_count': [{
                'topic_metadata': {
                    'name': topic.name, 'type': topic.type,
                    'serialization_format': topic.serialization_format},
                'message_count': sum(message[0] == topic.name for message in self._messages),
            } for topic in self._topics.values()],
        }
        (self._folder / 'metadata.yaml').write_text(yaml.safe_dump({ABOUT: about}))
