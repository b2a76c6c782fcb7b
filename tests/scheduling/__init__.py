"""Tests of compaction, schedulers and replays."""
