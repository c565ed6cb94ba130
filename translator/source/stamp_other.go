//go:build !linux

package source

import "io/fs"

// stamp is the file system's metadata of a file.
type stamp struct {
	size    int64
	mode    fs.FileMode
	written int64 // nanoseconds
	changed int64 // always 0
}

func stampOf(info fs.FileInfo) stamp {
	return stamp{size: info.Size(), mode: info.Mode(), written: info.ModTime().UnixNano()}
}
