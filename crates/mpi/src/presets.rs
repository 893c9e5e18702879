//! Thresholds of MPI libraries, and of other simulators' models, by name.
//!
//! A preset gives the defaults of some keys of `[mpi]`; given keys override it. Values come from public sources
//! only. Presets have no overheads, which depend on the machine. `docs/methods/mpi.md` says what a preset leaves out
//! of the protocol of its library.

use config::{Error, Section};

/// One named set of thresholds.
#[derive(Debug)]
pub struct Preset {
    /// Name in experiments.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Source of the numbers: repository, commit where it is known, file and symbol. They are defaults of the library
    /// unless the text says "second hand".
    pub source: &'static str,
    /// [`MpiSettings::eager_threshold`] in bytes.
    pub eager_threshold: u64,
    /// [`MpiSettings::copy_threshold`] in bytes.
    pub copy_threshold: u64,
}

/// All presets. The first one is the default.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "none",
        summary: "the defaults of each key",
        source: "docs/methods/mpi.md",
        eager_threshold: 8 << 10,
        copy_threshold: 0,
    },
    Preset {
        name: "psm2",
        summary: "Omni-Path's PSM2 on Xeon: eager up to 64,000 B",
        source: "cornelisnetworks/opa-psm2, psm_config.h: MQ_HFI_THRESH_RNDV_XEON; the same in sstsimulator/sst-elements, \
                 src/sst/elements/ember/test/chamaPSMParams.py: shortMsgLength",
        eager_threshold: 64_000,
        copy_threshold: 0,
    },
    Preset {
        name: "openmpi-tcp",
        summary: "Open MPI over TCP: eager up to 64 KiB",
        source: "open-mpi/ompi, opal/mca/btl/tcp/btl_tcp_component.c: btl_eager_limit",
        eager_threshold: 64 << 10,
        copy_threshold: 0,
    },
    Preset {
        name: "mpich-ch3",
        summary: "MPICH's device ch3: eager up to 128 KiB",
        source: "pmodels/mpich, src/mpid/ch3/src/mpid_vc.c: MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE",
        eager_threshold: 128 << 10,
        copy_threshold: 0,
    },
    Preset {
        name: "psm3",
        summary: "PSM3 over verbs with the kernel module rv: eager up to 64,000 B",
        source: "ofiwg/libfabric@af8ddbe92f, prov/psm3/psm3/psm_config.h: PSM3_MQ_RNDV_NIC_THRESH; \
                 prov/psm3/psm3/ptl_ips/ips_proto_mq.c: len <= mq->rndv_nic_thresh",
        eager_threshold: 64_000,
        copy_threshold: 0,
    },
    Preset {
        name: "opx",
        summary: "OPX on Omni-Path 100 and CN5000, host memory: eager up to 16 KiB",
        source: "ofiwg/libfabric@af8ddbe92f, prov/opx/include/rdma/opx/fi_opx_hfi1.h: \
                 OPX_MP_EGR_MAX_PAYLOAD_BYTES_DEFAULT, OPX_RZV_MIN_PAYLOAD_BYTES_DEFAULT",
        eager_threshold: 16 << 10,
        copy_threshold: 0,
    },
    Preset {
        name: "cxi",
        summary: "CXI on Slingshot 11: eager up to 18,433 B",
        source: "ofiwg/libfabric@af8ddbe92f, prov/cxi/include/cxip.h: CXIP_RDZV_THRESHOLD; prov/cxi/src/cxip_info.c: \
                 rdzv_get_min; prov/cxi/src/cxip_msg_hpc.c: max_eager_size is their sum",
        eager_threshold: 16_384 + 2_049,
        copy_threshold: 0,
    },
    Preset {
        name: "rxm",
        summary: "libfabric's RxM over verbs or TCP: eager up to 128 KiB",
        source: "ofiwg/libfabric@af8ddbe92f, prov/rxm/src/rxm_init.c: rxm_buffer_size; prov/rxm/src/rxm_ep.c: \
                 sar_limit is eight times that",
        eager_threshold: 8 * (16 << 10),
        copy_threshold: 0,
    },
    Preset {
        name: "cray-mpich-rxm",
        summary: "Cray MPICH on Slingshot 10, over RxM: eager up to 256 KiB",
        source: "second hand: ARCHER2-HPC/archer2-docs@d6df10b654, docs/user-guide/tuning.md: messages up to 256 \
                 KiB, FI_OFI_RXM_SAR_LIMIT",
        eager_threshold: 256 << 10,
        copy_threshold: 0,
    },
    Preset {
        name: "mvapich2",
        summary: "MVAPICH2 2.3.7 on InfiniBand: eager up to 16 KiB",
        source: "kumattau/mvapich2@7b3539c493, src/mpid/ch3/channels/mrail/src/gen2/ibv_param.c: \
                 rdma_set_default_parameters_numrail_1, last branch: rdma_vbuf_total_size",
        eager_threshold: 16 << 10,
        copy_threshold: 0,
    },
    Preset {
        name: "mvapich2-xeon-8280-edr",
        summary: "MVAPICH2 2.3.7 on Xeon 8280 with EDR: eager up to 17 KiB",
        source: "kumattau/mvapich2@7b3539c493, src/mpid/ch3/channels/mrail/src/gen2/ibv_param.c: \
                 MV2_ARCH_INTEL_PLATINUM_8280_2S_56 with MV2_HCA_MLX_CX_EDR: rdma_vbuf_total_size",
        eager_threshold: 17 << 10,
        copy_threshold: 0,
    },
    Preset {
        name: "mvapich2-epyc-7551",
        summary: "MVAPICH2 2.3.7 on EPYC 7551 with EDR or HDR: eager up to 17 KiB",
        source: "kumattau/mvapich2@7b3539c493, src/mpid/ch3/channels/mrail/src/gen2/ibv_param.c: \
                 MV2_ARCH_AMD_EPYC_7551_64 with MV2_HCA_MLX_CX_EDR and MV2_HCA_MLX_CX_HDR: rdma_vbuf_total_size",
        eager_threshold: 17 << 10,
        copy_threshold: 0,
    },
    Preset {
        name: "mvapich2-epyc-7763-edr",
        summary: "MVAPICH2 2.3.7 on EPYC 7763 with EDR: eager up to 12 KiB",
        source: "kumattau/mvapich2@7b3539c493, src/mpid/ch3/channels/mrail/src/gen2/ibv_param.c: \
                 MV2_ARCH_AMD_EPYC_7763_128 with MV2_HCA_MLX_CX_EDR: rdma_vbuf_total_size",
        eager_threshold: 12 << 10,
        copy_threshold: 0,
    },
    Preset {
        name: "mvapich2-epyc-7763-hdr",
        summary: "MVAPICH2 2.3.7 on EPYC 7763 with HDR: eager up to 32 KiB",
        source: "kumattau/mvapich2@7b3539c493, src/mpid/ch3/channels/mrail/src/gen2/ibv_param.c: \
                 MV2_ARCH_AMD_EPYC_7763_128 with MV2_HCA_MLX_CX_HDR: rdma_vbuf_total_size",
        eager_threshold: 32 << 10,
        copy_threshold: 0,
    },
    Preset {
        name: "mvapich2-epyc-7v12-hdr",
        summary: "MVAPICH2 2.3.7 on EPYC 7V12 with HDR: eager up to 24 KiB",
        source: "kumattau/mvapich2@7b3539c493, src/mpid/ch3/channels/mrail/src/gen2/ibv_param.c: \
                 MV2_ARCH_AMD_EPYC_7V12_64 with MV2_HCA_MLX_CX_HDR: rdma_vbuf_total_size",
        eager_threshold: 24 << 10,
        copy_threshold: 0,
    },
    Preset {
        name: "mvapich2-power9",
        summary: "MVAPICH2 2.3.7 on POWER9 with EDR or HDR: eager up to 32 KiB",
        source: "kumattau/mvapich2@7b3539c493, src/mpid/ch3/channels/mrail/src/gen2/ibv_param.c: MV2_ARCH_IBM_POWER9 \
                 with MV2_HCA_MLX_CX_EDR and MV2_HCA_MLX_CX_HDR: rdma_vbuf_total_size",
        eager_threshold: 32 << 10,
        copy_threshold: 0,
    },
    Preset {
        name: "openmpi-openib",
        summary: "Open MPI 4.1 over its component openib: eager up to 12 KiB",
        source: "open-mpi/ompi@dadb5bfe94, opal/mca/btl/openib/btl_openib_mca.c: btl_eager_limit",
        eager_threshold: 12 << 10,
        copy_threshold: 0,
    },
    Preset {
        name: "openmpi-ugni",
        summary: "Open MPI 4.1 on Aries, up to 512 ranks: eager up to 8 KiB",
        source: "open-mpi/ompi@dadb5bfe94, opal/mca/btl/ugni/btl_ugni_add_procs.c: ugni_smsg_limit; \
                 opal/mca/btl/ugni/btl_ugni_component.c: btl_eager_limit",
        eager_threshold: 8 << 10,
        copy_threshold: 0,
    },
    Preset {
        name: "sst-macro",
        summary: "SST/macro's defaults: eager up to 512 B, copied and fetched up to 8 KiB, then rendezvous",
        source: "sstsimulator/sst-macro, sumi-mpi/mpi_queue/mpi_queue.cc: max_vshort_msg_size, max_eager_msg_size",
        eager_threshold: 512,
        copy_threshold: 8 << 10,
    },
    Preset {
        name: "sst-macro-opa",
        summary: "SST/macro's cluster of Omni-Path: eager up to 16,000 B, copied and fetched up to 64,000 B",
        source: "sstsimulator/sst-macro, configurations/opa24_amm3.ini: max_vshort_msg_size, max_eager_msg_size",
        eager_threshold: 16_000,
        copy_threshold: 64_000,
    },
    Preset {
        name: "sst-firefly",
        summary: "SST's Firefly as Ember sets it: eager up to 12,000 B",
        source: "sstsimulator/sst-elements, src/sst/elements/firefly/pyfirefly.py: shortMsgLength",
        eager_threshold: 12_000,
        copy_threshold: 0,
    },
    Preset {
        name: "codes",
        summary: "CODES' MPI replay: eager below 8 KiB",
        source: "codes-org/codes, src/network-workloads/model-net-mpi-replay.c: EAGER_THRESHOLD",
        eager_threshold: (8 << 10) - 1,
        copy_threshold: 0,
    },
    Preset {
        name: "tracer",
        summary: "TraceR: eager up to 8 KiB",
        source: "hpcgroup/TraceR, tracer/tracer-driver.C: eager_limit",
        eager_threshold: 8 << 10,
        copy_threshold: 0,
    },
];

/// Reads the key `preset`.
///
/// # Errors
/// The name is unknown.
pub(crate) fn read(section: &Section) -> Result<&'static Preset, Error> {
    let name: String = section.get("preset")?;
    let found = PRESETS.iter().find(|preset| preset.name == name);
    found.ok_or_else(|| section.unknown_name("preset", &name, PRESETS.iter().map(|preset| preset.name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MpiSettings;

    fn settings(text: &str) -> MpiSettings {
        MpiSettings::read(&Section::from_toml(text, "x.toml").unwrap()).unwrap()
    }

    #[test]
    fn each_preset_gives_defaults_that_keys_override() {
        for preset in PRESETS {
            let named = settings(&format!("preset = \"{}\"", preset.name));
            assert_eq!(named, preset.settings(), "{}", preset.name);
            let text = format!("preset = \"{}\"\neager_threshold = \"3 B\"", preset.name);
            let overridden = settings(&text);
            assert_eq!(overridden.eager_threshold, 3);
            assert_eq!(overridden.copy_threshold, preset.copy_threshold);
            assert!(!preset.summary.is_empty() && !preset.source.is_empty());
        }
        assert_eq!(settings("preset = \"psm2\"").eager_threshold, 64_000);
        assert_eq!(settings("preset = \"mpich-ch3\"").eager_threshold, 131_072);
    }

    #[test]
    fn without_a_name_nothing_changes() {
        assert_eq!(settings(""), MpiSettings::default());
        assert_eq!(PRESETS[0].settings(), MpiSettings::default());
    }
}
