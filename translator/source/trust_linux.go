package source

import (
	"fmt"
	"slices"
	"syscall"
)

// eventful are the file systems that report every change, because all changes are made through
// this kernel, as statfs(2) numbers them: ext2 to ext4, XFS, Btrfs, F2FS, bcachefs, tmpfs and
// overlayfs. Of NFS and the like the changes of others are not reported.
var eventful = []int64{0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0xca451a4e, 0x01021994, 0x794c7630}

// distrust returns why events do not report every change in a folder, nil if they do.
func distrust(folder string) error {
	var found syscall.Statfs_t
	if err := syscall.Statfs(folder, &found); err != nil {
		return err
	}
	if kind := int64(found.Type) & 0xffffffff; !slices.Contains(eventful, kind) {
		return fmt.Errorf("a file system of type %#x may have changes without events", kind)
	}
	return nil
}
