"""Recipe for Spack 1.0 and newer: `packages/py_fabricsim/package.py` of a repository of packages.

The address and the hash come with the first public release. Until then, with the file that `make release` has made:
`spack install --no-checksum py-fabricsim`, after `url` names that file.
"""

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyFabricsim(PythonPackage):
    """A packet-level simulator of HPC and AI interconnects: what a network does to an application."""

    url = "file:///path/to/dist/fabricsim-0.2.0.tar.gz"

    license("Apache-2.0")

    version("0.2.0")

    variant("otf2", default=True, description="Read and write OTF2 traces")
    variant("plot", default=True, description="Figures with Matplotlib")
    variant("sweep", default=True, description="Sweeps on Dask")

    depends_on("c", type="build")
    depends_on("rust@1.88:", type="build")
    depends_on("py-maturin@1.9:1", type="build")
    depends_on("otf2@2:", when="+otf2")

    depends_on("python@3.10:", type=("build", "run"))
    with default_args(type="run"):
        depends_on("py-pyarrow@15:")
        depends_on("arrow+dataset+parquet")
        depends_on("py-tomli@2:", when="^python@:3.10")
        depends_on("py-tomli-w@1.0:")
        depends_on("py-tqdm@4.62:")
        depends_on("py-matplotlib@3.7:", when="+plot")
        depends_on("py-numpy@1.23:", when="+plot")
        depends_on("py-dask@2024.8:", when="+sweep")
        depends_on("py-dask-jobqueue@0.9:", when="+sweep")
        depends_on("py-distributed@2024.8:", when="+sweep")
        depends_on("py-plotly@5.24:", when="+sweep")

    def setup_build_environment(self, env):
        if self.spec.satisfies("~otf2"):
            env.set("FABRICSIM_WITHOUT_OTF2", "1")

    @run_before("install")
    def build_libraries_of_real_programs(self):
        """They lie beside the module, for `fabricsim mpirun`."""
        packages = ("fabricsim-libmpi", "fabricsim-libmpi-abi", "fabricsim-rank-clock")
        cargo = Executable(self.spec["rust"].prefix.bin.cargo)
        with working_dir(self.stage.source_path):
            cargo("build", "--release", "--locked", *(f"--package={name}" for name in packages))
            for library in find("target/release", "libfabricsim_*.so", recursive=False):
                install(library, "python/fabricsim")
