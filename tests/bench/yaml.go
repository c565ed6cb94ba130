package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
)

// parseAlone returns how long the YAML parser needs for the documents of a directory on all
// processors, without anything that is made of them: no start from documents takes less.
func parseAlone(dir string) (time.Duration, error) {
	var files [][]byte
	if err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files = append(files, content)
		return err
	}); err != nil {
		return 0, err
	}
	runtime.GC()
	began := time.Now()
	var parsers sync.WaitGroup
	work, faults := make(chan []byte), make(chan error, len(files))
	for range runtime.GOMAXPROCS(0) {
		parsers.Go(func() {
			for content := range work {
				faults <- parse(content)
			}
		})
	}
	for _, content := range files {
		work <- content
	}
	close(work)
	parsers.Wait()
	took := time.Since(began)
	for range files {
		if err := <-faults; err != nil {
			return 0, fmt.Errorf("parse the documents: %w", err)
		}
	}
	return took, nil
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
