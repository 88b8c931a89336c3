"""A ReFrame test of syscost: each figure of results.csv is a performance variable.

    reframe -C SITE.py -c dist/reframe/syscost.py -r --performance-report

Derive from SyscostBase for runs and references of your own:

    @rfm.simple_test
    class NightlyOs(SyscostBase):
        run_arguments = "timer --time-limit 10s"
        valid_systems = ["cluster:compute"]
        valid_prog_environs = ["*"]
        reference = {"cluster:compute": {"timer_clock_gettime_cost": (23, None, 0.1, "ns")}}

Source: ReFrame's regression test API (sanity_function, perf_variables, reference).
"""

import csv
import os

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import run_before, sanity_function, variable

# Columns of results.csv that name no case (FORMAT.md): the axes stand between `probe` and `metric`.
FIRST, LAST = 'probe', 'metric'


def rows(path):
    """The rows of results.csv, each with its name: the probe, its coordinates, and the metric."""
    with open(path, newline='') as file:
        reader = csv.DictReader(file)
        columns = reader.fieldnames or []
        axes = columns[columns.index(FIRST) + 1:columns.index(LAST)]
        for row in reader:
            point = [row[axis] for axis in axes if row[axis]]
            yield '_'.join([row['probe'], *point, row['metric']]), row


class SyscostBase(rfm.RunOnlyRegressionTest):
    """Runs syscost on one node, and reads what it wrote."""

    #: Arguments of `syscost run`.
    run_arguments = variable(str, value='os --time-limit 30s')
    #: The program.
    program = variable(str, value='syscost')
    #: Only these metrics; empty: all.
    metrics = variable(typ.List[str], value=[])
    out = 'syscost-run'

    @run_before('run')
    def set_command(self):
        self.executable = self.program
        self.executable_opts = ['run', *self.run_arguments.split(), '--quiet', '--out', self.out]
        # Figures of a node that others use too are noise.
        self.exclusive_access = True

    @sanity_function
    def measured(self):
        """A run that ended by itself, in which no case failed."""
        record = os.path.join(self.out, 'run.json')
        return sn.all([
            sn.assert_found(r'"state": "(complete|time_limit)"', record),
            sn.assert_true(os.path.getsize(os.path.join(self.stagedir, self.out, 'results.csv'))),
        ])

    @run_before('performance')
    def read_results(self):
        path = os.path.join(self.stagedir, self.out, 'results.csv')
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(float(row['value'])), row['unit'] or '1')
            for name, row in rows(path)
            if not self.metrics or row['metric'] in self.metrics
        }


@rfm.simple_test
class SyscostTest(SyscostBase):
    """The operations of the system, on every node it is asked for."""

    valid_systems = ['*']
    valid_prog_environs = ['*']
