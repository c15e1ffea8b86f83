"""A plugin for ms-swift: `--external_plugins plugin.py --reward_funcs grader_code`."""

from grader.trainers.ms_swift import register

register("grader_code")
