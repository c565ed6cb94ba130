package source

import (
	"io/fs"
	"syscall"
	"time"
)

// stamp is the file system's metadata of a file. Equal stamps mean equal content, unless the
// file was written twice within one tick of the file system's clock.
type stamp struct {
	size    int64
	mode    fs.FileMode
	written int64 // nanoseconds
	changed int64 // nanoseconds; unlike written, tools cannot set it
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
