"""Names the wheel after what is in it: an executable for one platform, which no Python's ABI matters to.

`tools/package` puts the executable in its place and runs this.
"""

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class PlatformDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return True


class Wheel(bdist_wheel):
    def get_tag(self) -> "tuple[str, str, str]":
        return "py3", "none", super().get_tag()[2]


setup(cmdclass={"bdist_wheel": Wheel}, distclass=PlatformDistribution)
