"""Tests of the pages of people, teams and planners."""
