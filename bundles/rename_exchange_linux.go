package bundles

import (
	"errors"

	"golang.org/x/sys/unix"
)

// renameExchange exchanges two folders atomically: both paths always have a complete one.
func renameExchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return renameExchangeSlow(a, b) // the file system does not support it
	}
	return err
}
