"""What a node knows of the cluster's database: a stand-in for patronictl, whose leader all nodes of the lab agree on."""
import os
import shutil

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(os.path.dirname(HERE), 'data', 'patroni')


class Patroni:
    def __init__(self, node, shared):
        self.node = node
        self.shared = shared

    def install(self):
        """With the node's power."""
        os.makedirs(self.shared, exist_ok=True)
        os.makedirs(self.node.run_path('lab', 'patroni'))
        shutil.copy(os.path.join(HERE, 'standins', 'patronictl'), self.node.run_path('lab', 'bin', 'patronictl'))
        shutil.copytree(DATA, self.node.run_path('lab', 'patroni', 'data'))
        os.symlink(self.shared, self.node.run_path('lab', 'patroni', 'shared'))

    def answer(self, case=None, delay=None):
        """What it answers from now on: a case of tests/data/patroni; None: as a healthy cluster does."""
        path = self.node.run_path('lab', 'patroni', 'case')
        if case is not None:
            with open(path, 'w') as file:
                file.write(case)
        elif os.path.exists(path):
            os.unlink(path)
        if delay is not None:
            with open(self.node.run_path('lab', 'patroni', 'delay'), 'w') as file:
                file.write(str(delay))

    @property
    def leader(self):
        """Name of the node that leads the database."""
        try:
            with open(os.path.join(self.shared, 'leader')) as file:
                return file.read().strip()
        except OSError:
            return ''

    def calls(self):
        """Time and words of every call."""
        try:
            with open(self.node.run_path('lab', 'patroni', 'calls')) as file:
                return [(float(line.split()[0]), line.split()[1:]) for line in file]
        except OSError:
            return []
