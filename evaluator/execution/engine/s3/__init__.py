"""Stores in buckets of S3 and compatible services. Imported only where a setting names one: boto3 takes a while."""
