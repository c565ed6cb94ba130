package source

import (
	"io/fs"
	"syscall"
	"time"
)

// stamp is what the file system says of a file. Two equal stamps mean the same
// bytes, but for a write within one tick of the file system's clock.
type stamp struct {
	size    int64
	mode    fs.FileMode
	written int64 // nanoseconds
	changed int64 // nanoseconds; unlike written, no tool can set it back
	device  uint64
	inode   uint64
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), mode: info.Mode(), written: info.ModTime().UnixNano()}
	if raw, ok := info.Sys().(*syscall.Stat_t); ok {
		s.changed = time.Unix(raw.Ctim.Unix()).UnixNano()
		s.device, s.inode = uint64(raw.Dev), raw.Ino
	}
	return s
}
