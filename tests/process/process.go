// Package process builds the commands that tests start.
package process

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Writ returns the path of the command, built from this repository. It is linked
// once for all packages of tests: the go command leaves a program alone that is up
// to date.
//
// Writ also reads what the command is built from. A test's result is cached until
// a file changes that the test has read, and what a compiler reads does not count.
func Writ(t testing.TB) string { return path(t, writ) }

// OPA returns the path of the stock opa that go.mod pins.
func OPA(t testing.TB) string { return path(t, opa) }

// ReadSources reads what the command is built from, for the reason that Writ does.
func ReadSources(t testing.TB) {
	t.Helper()
	top, err := root()
	if err == nil {
		err = readSources(top)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// FreeAddress returns an address of this machine that no process listens on.
func FreeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func path(t testing.TB, build func() (string, error)) string {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

var writ = sync.OnceValues(func() (string, error) {
	top, err := root()
	if err != nil {
		return "", err
	}
	if err := readSources(top); err != nil {
		return "", err
	}
	folder := filepath.Join(top, "bin", "tests")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(folder, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	program := filepath.Join(folder, "writ")
	if err := build(top, program, "-ldflags=-s -w"); err != nil {
		return "", err
	}
	// The go command gives a program that is up to date the present time, which would end the
	// validity of cached results.
	return program, os.Chtimes(program, time.Unix(1, 0), time.Unix(1, 0))
})

func build(top, program string, flags ...string) error {
	command := exec.Command("go", slices.Concat([]string{"build", "-o", program}, flags, []string{"./cmd/writ"})...)
	command.Dir = top
	// git status, by which go build finds the commit, writes to .git: that would end the
	// validity of cached results of tests whose sources of documents look for that folder.
	command.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build writ: %w\n%s", err, out)
	}
	return nil
}

// WritWith returns the path of a command that is built with other content of some files of
// this repository, which edit returns for the present content.
func WritWith(t testing.TB, edits map[string]func(content string) string) string {
	t.Helper()
	ReadSources(t)
	top, err := root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{make(map[string]string)}
	for file, edit := range edits {
		content, err := os.ReadFile(filepath.Join(top, file))
		if err != nil {
			t.Fatal(err)
		}
		edited := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(edited, []byte(edit(string(content))), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(top, file)] = edited
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "writ")
	if err := os.WriteFile(list, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := build(top, program, "-overlay", list, "-ldflags=-s -w"); err != nil {
		t.Fatal(err)
	}
	return program
}

// stock is where the go command keeps the stock opa, once that has been asked.
var stock struct {
	sync.Mutex
	path string
}

// opa asks the go command, which caches the programs of tools and prints where, and again if
// it has removed the program from its cache meanwhile.
func opa() (string, error) {
	stock.Lock()
	defer stock.Unlock()
	if _, err := os.Stat(stock.path); err == nil {
		return stock.path, nil
	}
	out, err := exec.Command("go", "tool", "-n", "opa").Output()
	if err != nil {
		return "", fmt.Errorf("go tool -n opa: %w", err)
	}
	stock.path = strings.TrimSpace(string(out))
	return stock.path, nil
}

// root returns the folder of the module: the test's own or one above it.
func root() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "cmd", "writ")); err == nil {
			return folder, nil
		}
		above := filepath.Dir(folder)
		if above == folder {
			return "", fmt.Errorf("no folder above the test has cmd/writ")
		}
		folder = above
	}
}

// readSources does not list the folder of the module, as the folders of builds and of git change
// in it.
func readSources(top string) error {
	for _, name := range [...]string{"go.mod", "go.sum"} {
		if _, err := os.ReadFile(filepath.Join(top, name)); err != nil {
			return err
		}
	}
	for _, name := range [...]string{"bundles", "cmd", "rego", "server", "translator"} {
		if err := readFolder(filepath.Join(top, name)); err != nil {
			return err
		}
	}
	return nil
}

func readFolder(folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			_, err = os.ReadFile(path)
		}
		return err
	})
}

// lock waits until no other process holds the file.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		_ = file.Close()
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}
