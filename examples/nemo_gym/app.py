"""A resources server for NeMo-Gym: put it into `resources_servers/grader/`; see config.yaml."""

from grader.trainers.nemo_gym import server_class

CodeServer = server_class()

if __name__ == "__main__":
    CodeServer.run_webserver()
