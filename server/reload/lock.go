package reload

import (
	"os"
	"strconv"
)

// lockFile is the file whose lock is that of the state directory. It is empty, and stays: the lock
// ends with the process, also with one that is killed.
const lockFile = "lock"

// inUse is the error of a state directory that another process writes to; zero if it is not known
// which.
type inUse int

func (process inUse) Error() string {
	if process == 0 {
		return "another server writes to the state directory"
	}
	return "another server writes to the state directory: process " + strconv.Itoa(int(process))
}

// prepare makes the directory and takes its lock, before something is written. The files of two
// servers would replace each other: an older pin, or a lower sequence number, would be found after a
// restart. While another process has the lock, as during a rolling update, the server decides, and
// what it has to write is pending. The lock is one of the process: it is not held against another
// state of the same process.
func (s *state) prepare() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if s.lock != nil {
		return nil
	}
	var err error
	s.lock, err = lockFolder(s.dir)
	return err
}
