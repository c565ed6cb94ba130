package bundles

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange swaps two folders in one step, so that at every moment there is a
// whole one at either path.
func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return swap(a, b) // a file system without it
	}
	return err
}
