//go:build unix

package reload

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// lockFolder takes the lock of a folder. It returns the file that holds the lock until it is closed;
// nil if the file belongs to another user, and inUse if another process has the lock. A file system
// without locks has none to take.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK})
	if !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EACCES) {
		return f, nil
	}
	defer f.Close()
	holder := syscall.Flock_t{Type: syscall.F_WRLCK}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &holder); err != nil || holder.Pid < 0 {
		holder.Pid = 0 // on another machine, or in another container
	}
	return nil, inUse(holder.Pid)
}
