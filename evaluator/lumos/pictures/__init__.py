"""Questions about photographs and drawings with several choices: A-OKVQA and ScienceQA."""
