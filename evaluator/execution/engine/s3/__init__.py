"""Stores in buckets of S3 and compatible services. Imported only if a setting names one, since boto3 loads slowly."""
