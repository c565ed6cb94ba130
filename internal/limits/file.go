package limits

import (
	"fmt"
	"io"
	"os"
)

// ReadFile reads a file of at most some bytes: a device has no end.
func ReadFile(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadAll(file, path, most)
}

// ReadAll reads at most some bytes. The name is that of what is read, for its error.
func ReadAll(in io.Reader, name string, most int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("%s has more than %d bytes", name, most)
	}
	return content, err
}
