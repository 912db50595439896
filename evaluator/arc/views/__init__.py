"""The paper's views of a task: the grid as letters, its objects by ten rules, and its cells by colour."""
