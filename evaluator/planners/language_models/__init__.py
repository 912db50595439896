"""Language models behind one protocol: local checkpoints, chat endpoints, and a scripted one."""
