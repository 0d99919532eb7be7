package sqlite

import "syscall"

// networks are file systems whose locks, or whose shared memory, do not reach
// from one machine to another as WAL needs it.
var networks = map[uint32]string{
	0x6969:     "NFS",
	0x517B:     "SMB",
	0xFE534D42: "SMB2",
	0xFF534D42: "CIFS",
	0x5346414F: "AFS",
	0x73757245: "Coda",
	0x00C36400: "Ceph",
	0x0BD00BD0: "Lustre",
	0x01161970: "GFS2",
	0x7461636F: "OCFS2",
}

// network names the network file system that path is on, "" for a local one or
// one that is not known.
func network(path string) string {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return ""
	}
	return networks[uint32(st.Type)]
}
