package serving

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/tests/process"
)

// smallDisk is a file system of a megabyte that only those see who enter it.
type smallDisk struct {
	t     *testing.T
	keeps *exec.Cmd // the process that has it
	path  string
}

// newSmallDisk needs a machine that lets its users mount in a namespace of their own.
func newSmallDisk(t *testing.T) *smallDisk {
	t.Helper()
	d := &smallDisk{t: t, path: t.TempDir()}
	d.keeps = exec.Command("unshare", "-Urm", "sh", "-c", `mount -t tmpfs -o size=1m tmpfs "$0" && echo mounted && exec sleep 600`, d.path)
	out, err := d.keeps.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.keeps.Start(); err != nil {
		t.Skipf("no file system of its own here: %v", err)
	}
	t.Cleanup(func() { _ = d.keeps.Process.Kill(); _ = d.keeps.Wait() })
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "mounted\n" {
		t.Skip("no file system of its own here")
	}
	if err := os.WriteFile(d.at("probe"), []byte("x"), 0o600); err != nil {
		t.Skipf("no file system of its own here: %v", err)
	}
	if err := exec.Command("nsenter", d.entering("true")...).Run(); err != nil {
		t.Skipf("no file system of its own here: %v", err)
	}
	return d
}

// at is a path of the disk as it is seen from outside.
func (d *smallDisk) at(name string) string {
	return filepath.Join(fmt.Sprintf("/proc/%d/root", d.keeps.Process.Pid), d.path, name)
}

func (d *smallDisk) entering(args ...string) []string {
	return append([]string{"-t", fmt.Sprint(d.keeps.Process.Pid), "-U", "-m", "--preserve-credentials", "--"}, args...)
}

// serve starts a server whose state is on the disk, ready when it returns. kill is
// kill -9.
func (d *smallDisk) serve(args ...string) (address string, kill func()) {
	d.t.Helper()
	address = process.FreeAddress(d.t)
	cmd := exec.Command("nsenter", d.entering(append([]string{process.Writ(d.t), "serve", "--listen", address, "--state-dir", filepath.Join(d.path, "state")}, args...)...)...)
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	kill = func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
	}
	d.t.Cleanup(func() {
		kill()
		if d.t.Failed() {
			d.t.Log(log.String())
		}
	})
	waitFor(d.t, func() bool { return ready(address) })
	return address, kill
}

// fill leaves no room. What the server at the address serves is kept before: the file
// it would write else, and remove for want of room, would leave some.
func (d *smallDisk) fill(address string) {
	d.t.Helper()
	waitKept(d.t, address, d.at("state"))
	f, err := os.Create(d.at("filler"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 1024))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatalf("fill the disk: %v", err)
	}
}

func (d *smallDisk) free() {
	d.t.Helper()
	if err := os.Remove(d.at("filler")); err != nil {
		d.t.Fatal(err)
	}
}

// whole wants every bundle on the disk to be whole, and nothing half beside.
func (d *smallDisk) whole() {
	d.t.Helper()
	err := filepath.WalkDir(d.at("state"), func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil || entry.IsDir():
			return err
		case entry.Name() == "commit", entry.Name() == "sequence", entry.Name() == "lock": // those of the last bundle, and that of the folder
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := bundles.Read(f); err != nil {
			return fmt.Errorf("%s: %w", entry.Name(), err)
		}
		return nil
	})
	if err != nil {
		d.t.Error(err)
	}
}

func page(t *testing.T, address string) string {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// With a full disk, new revisions are served, the kept revision stays whole and is
// what a restart serves, and status and metrics report the failure. When there is room
// again, the newest revision is kept.
func TestFullDisk(t *testing.T) {
	d := newSmallDisk(t)
	dir := t.TempDir()
	save := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, ".new"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, ".new"), filepath.Join(dir, "policy.yaml")); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--policies", dir, "--settle", "10ms", "--rescan", "100ms"}
	address := ""
	serves := func(user string) func() bool {
		return func() bool { allowed, _, _ := mayGet(t, address, user); return allowed }
	}
	stateError := func() string { return fmt.Sprint(statusOf(t, address)["stateError"]) }
	const full = "no space left on device"

	save(granting("alice"))
	address, kill := d.serve(args...)
	waitFor(t, serves("alice"))
	d.fill(address)
	save(granting("bob"))
	waitFor(t, serves("bob"))
	waitFor(t, func() bool { return strings.Contains(stateError(), full) })
	if !strings.Contains(page(t, address), "writ_state_failing 1") {
		t.Error("the metrics do not report the failure")
	}
	if s := statusOf(t, address); s["degraded"] != false {
		t.Errorf("status %v, want not degraded: the newest is served", s)
	}
	d.whole()

	kill()
	save("kind: [")
	address, kill = d.serve(args...)
	if !serves("alice")() || serves("bob")() {
		t.Error("the restart does not serve what was kept")
	}
	save(granting("carol"))
	waitFor(t, serves("carol"))
	waitFor(t, func() bool { return strings.Contains(stateError(), full) })
	d.whole()

	d.free()
	waitFor(t, func() bool { return stateError() == "" })
	if !strings.Contains(page(t, address), "writ_state_failing 0") {
		t.Error("the metrics do not report the recovery")
	}
	d.whole()
	kill()
	save("kind: [")
	address, _ = d.serve(args...)
	if !serves("carol")() {
		t.Error("the restart does not serve what was kept when there was room")
	}
}

// A commit that has no room is not read; it is when there is.
func TestFetchToFullDisk(t *testing.T) {
	d := newSmallDisk(t)
	host := newGitHost(t)
	host.commit(granting("alice"))
	address, _ := d.serve("--policies", host.url, "--every", "50ms")
	serves := func(user string) func() bool {
		return func() bool { allowed, _, _ := mayGet(t, address, user); return allowed }
	}
	waitFor(t, serves("alice"))
	d.fill(address)
	host.commit(granting("bob"))
	waitFor(t, func() bool {
		return strings.Contains(fmt.Sprint(statusOf(t, address)["lastError"]), "no space left on device")
	})
	if !serves("alice")() || serves("bob")() {
		t.Error("the last good commit is not what answers")
	}
	d.whole()
	d.free()
	waitFor(t, serves("bob"))
	waitFor(t, func() bool { s := statusOf(t, address); return s["degraded"] == false && s["stateError"] == "" })
}

// A bundle that came while the disk was full is kept when there is room, though it
// does not come again.
func TestBundleToFullDisk(t *testing.T) {
	d := newSmallDisk(t)
	b := newBuilder(t)
	b.write("served", b.build("alice", 1, "now"))
	next := b.build("bob", 2, "now")
	served := filepath.Join(b.dir, "served")
	address, kill := d.serve("--bundle", served, "--keys", b.keys, "--every", "50ms")
	serves := func(user string) func() bool {
		return func() bool { allowed, _, _ := mayGet(t, address, user); return allowed }
	}
	waitFor(t, serves("alice"))
	d.fill(address)
	b.write("served", next)
	waitFor(t, serves("bob"))
	stateError := func() string { return fmt.Sprint(statusOf(t, address)["stateError"]) }
	waitFor(t, func() bool { return strings.Contains(stateError(), "no space left on device") })
	d.whole()
	d.free()
	waitFor(t, func() bool { return stateError() == "" })
	kill()
	if err := os.Remove(served); err != nil {
		t.Fatal(err)
	}
	address, _ = d.serve("--bundle", served, "--keys", b.keys, "--every", "50ms")
	waitFor(t, serves("bob"))
}
