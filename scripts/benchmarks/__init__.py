"""How fast the engine is: stage by stage, each figure beside a reference of the same run."""
