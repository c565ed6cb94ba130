package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/internal/parallel"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/syntax"
)

// readFiles returns the contents of the files of a directory.
func readFiles(dir string) (files [][]byte, err error) {
	return files, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files = append(files, content)
		return err
	})
}

// parseAlone returns how long the YAML parser needs for files on all processors, without anything that
// is made of them: no start from documents takes less.
func parseAlone(files [][]byte) (time.Duration, error) {
	faults := make([]error, len(files))
	took := onAllProcessors(files, func(i int) { faults[i] = parse(files[i]) })
	return took, errors.Join(faults...)
}

// decodeAlone returns how long writ needs to decode files on all processors, which must keep the
// documents: what a start does before one document is compared with another.
func decodeAlone(files [][]byte) time.Duration {
	kinds, documents := translator.Kinds(), make([]syntax.File, len(files))
	o := syntax.Options{Shared: new(syntax.Shared)}
	defer runtime.KeepAlive(documents)
	return onAllProcessors(files, func(i int) { documents[i] = kinds.Decode("file.yaml", files[i], o) })
}

// onAllProcessors returns how long a function of each file takes, while the heap may grow by about what
// that of a server may that starts from the files.
func onAllProcessors(files [][]byte, f func(i int)) time.Duration {
	growth := 64 << 20
	for _, content := range files {
		growth += 9 * len(content) / 2
	}
	debug.FreeOSMemory()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(now.Sys-now.HeapReleased) + int64(growth))) //nolint:gosec // memory is smaller
	began := time.Now()
	parallel.Each(len(files), 1, func(i, _ int) { f(i) })
	return time.Since(began)
}

// parse parses the documents of a file.
func parse(content []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var node yaml.Node
		if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
