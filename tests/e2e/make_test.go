package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMakeCluster starts a cluster as its user does, asks it as the printed lines say, and
// interrupts it as a terminal does. Nothing is left either when it cannot clean up.
func TestMakeCluster(t *testing.T) {
	if *binaries == "" || *writ == "" {
		t.Fatal("-bin and -writ are required; use make e2e-kubernetes")
	}
	for _, with := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(with.String(), func(t *testing.T) { makeCluster(t, with) })
	}
}

func makeCluster(t *testing.T, with syscall.Signal) {
	root := t.TempDir()
	dir := filepath.Join(root, "bin", "cluster")
	command := exec.Command("make", "--no-print-directory", "-C", "../..", "cluster", "CLUSTER="+dir)
	command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MAKE") }) // of the make that runs the test
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Stderr = os.Stderr
	stdout, err := command.StdoutPipe()
	check(t, err)
	began := time.Now()
	check(t, command.Start())
	group := -command.Process.Pid
	t.Cleanup(func() { _ = syscall.Kill(group, syscall.SIGKILL) })
	lines := bufio.NewScanner(stdout)
	printed := &strings.Builder{}
	for lines.Scan() {
		printed.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "Ctrl-C") {
			break
		}
	}
	t.Logf("ready after %s:\n%s", time.Since(began).Round(time.Second), printed)
	programs := running(t, dir)
	if len(programs) != 3 { // with the command that starts them
		t.Errorf("got processes %q", programs)
	}

	block := regexp.MustCompile(`(?m)^  (export .*|kubectl .*)$`).FindAllStringSubmatch(printed.String(), -1)
	script := "set -e\n"
	for _, line := range block {
		script += strings.Replace(line[1], "can-i get pods --as alice", "can-i get pods --as alice || test $? = 1", 1) + "\n"
	}
	out, err := exec.CommandContext(t.Context(), "bash", "-c", script).CombinedOutput()
	if err != nil || len(block) != 4 || !strings.Contains(string(out), "kube-system") || !strings.HasSuffix(string(out), "no\n") {
		t.Errorf("%v:\n%s", err, out)
	}

	if with == syscall.SIGINT {
		addWrit(t, root)
	}

	began = time.Now()
	check(t, syscall.Kill(group, with))
	for lines.Scan() {
		printed.WriteString(lines.Text() + "\n")
	}
	_ = command.Wait() // make fails when it is interrupted
	if with == syscall.SIGKILL {
		eventually(t, "the kernel has ended the programs", func() (bool, string) {
			left := running(t, dir)
			return len(left) == 0, strings.Join(left, "\n")
		})
	}
	if left := running(t, dir); len(left) != 0 {
		t.Errorf("%s left %q", with, left)
	}
	if with != syscall.SIGKILL && !strings.Contains(printed.String(), "kube-apiserver and etcd are stopped.") {
		t.Errorf("got %s", printed)
	}
	t.Logf("ended after %s", time.Since(began).Round(time.Millisecond))
}

// addWrit follows docs/webhook.md with the running cluster.
func addWrit(t *testing.T, root string) {
	address := freeAddress(t)
	p := readPage(t, root, "webhook.md", "0.0.0.0:8443", address, "127.0.0.1:8443", address, "--policies policies", "--policies examples/policies")
	p.kubeconfig = filepath.Join(root, "bin/cluster/kubeconfig")
	check(t, os.CopyFS(filepath.Join(root, "examples/policies"), os.DirFS("../../examples/policies")))
	p.shell(t, "openssl")
	p.serve(t, address)
	steps, ask, found := strings.Cut(p.block(t, "sh", "bin/cluster"), "kubectl auth can-i ")
	if out, err := p.try(t, steps); err != nil || !found {
		t.Fatalf("%v, %t:\n%s", err, found, out)
	}
	began := time.Now()
	p.decides(t, "priya", "by writ", true)
	if out, err := p.try(t, "kubectl auth can-i "+ask); err != nil || out != "yes\n" {
		t.Errorf("%v: %s", err, out)
	}
	t.Logf("the API server asks writ after %s", time.Since(began))
}

// running returns the command lines of processes that name a folder, as each of a cluster does.
func running(t *testing.T, dir string) []string {
	t.Helper()
	processes, err := os.ReadDir("/proc")
	check(t, err)
	var found []string
	for _, p := range processes {
		if _, err := strconv.Atoi(p.Name()); err != nil {
			continue
		}
		content, err := os.ReadFile(filepath.Join("/proc", p.Name(), "cmdline"))
		line := strings.ReplaceAll(string(content), "\x00", " ")
		if err == nil && strings.Contains(line, dir) && !strings.HasPrefix(line, "make ") {
			found = append(found, line)
		}
	}
	return found
}
