package e2e

import (
	"bytes"
	"context"
	"flag"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/writ-policy/writ/tests/e2e/controlplane"
)

var (
	binaries = flag.String("bin", "", "folder of etcd, kube-apiserver and kubectl")
	writ     = flag.String("writ", "", "the built command")
	outage   = flag.Duration("outage", time.Minute, "for how long the API server is gone")
	bindings = flag.Int("bindings", 10_000, "bindings in the cluster")
)

const patience = 2 * time.Minute

// controlPlane is a control plane that ends with the test. Clients of writ reach it through a
// gate that a test closes.
type controlPlane struct {
	*controlplane.Plane
	whole   *testing.T // at whose end the processes end
	dir     string
	gate    *gate
	clients *kubernetes.Clientset
	objects *dynamic.DynamicClient
}

// startControlPlane starts one whose API server has further flags.
func startControlPlane(t *testing.T, flags ...string) *controlPlane {
	t.Helper()
	if *binaries == "" || *writ == "" {
		t.Fatal("-bin and -writ are required; use make e2e-kubernetes")
	}
	c := &controlPlane{whole: t, dir: t.TempDir()}
	began := time.Now()
	plane, err := controlplane.Start(t.Context(), controlplane.Options{
		Programs: *binaries, Dir: c.dir, Flags: append([]string{"--authorization-mode", "RBAC"}, flags...),
		Users: []string{"ann", "bob", "dave", "erin", "system:kube-scheduler", "gil", "hal"},
	})
	check(t, err)
	c.Plane, c.clients = plane, plane.Clients
	t.Cleanup(func() {
		c.Close()
		if t.Failed() {
			t.Logf("the last lines of kube-apiserver:\n%s", c.API().LastLines(15))
		}
	})
	c.objects, err = dynamic.NewForConfig(c.Config)
	check(t, err)
	version, err := c.clients.Discovery().ServerVersion()
	check(t, err)
	t.Logf("kube-apiserver %s is ready after %s", version.GitVersion, time.Since(began))
	c.gate = openGate(t, c.Address)
	return c
}

func (c *controlPlane) startAPI(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	check(t, c.StartAPI(ctx))
}

// stopAPI ends the API server as a machine that loses its power.
func (c *controlPlane) stopAPI(t *testing.T) {
	t.Helper()
	c.API().Kill()
}

// writ starts the command until the end of the whole test.
func (c *controlPlane) writ(t *testing.T, args ...string) *controlplane.Process {
	t.Helper()
	process, err := controlplane.StartProcess(c.dir, *writ, args...)
	check(t, err)
	c.whole.Cleanup(func() {
		process.Kill()
		if c.whole.Failed() {
			t.Logf("the last lines of writ:\n%s", process.LastLines(15))
		}
	})
	return process
}

func lastLines(content []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func (c *controlPlane) write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(c.dir, name)
	check(t, os.WriteFile(path, content, 0o600))
	return path
}

// kubeconfig writes a kubeconfig with the contexts admin and writ, which go through the gate.
func (c *controlPlane) kubeconfig(t *testing.T) string {
	t.Helper()
	return c.write(t, "kubeconfig", c.Kubeconfig(c.gate.address(), "writ"))
}

// compact drops the history of the store, so that no watch can be continued from it.
func (c *controlPlane) compact(t *testing.T) {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{c.Etcd}, DialTimeout: 5 * time.Second})
	check(t, err)
	defer client.Close()
	now, err := client.Get(t.Context(), "writ")
	check(t, err)
	_, err = client.Compact(t.Context(), now.Header.Revision, clientv3.WithCompactPhysical())
	check(t, err)
}

// gate forwards connections to an address while it is open.
type gate struct {
	listener net.Listener
	to       string

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]bool
}

func openGate(t *testing.T, to string) *gate {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	g := &gate{listener: listener, to: to, open: make(map[net.Conn]bool)}
	go g.accept()
	t.Cleanup(func() { listener.Close(); g.set(true) })
	return g
}

func (g *gate) address() string { return g.listener.Addr().String() }

// set closes the gate and all connections, or opens it.
func (g *gate) set(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = closed
	g.cut()
}

func (g *gate) cut() {
	for c := range g.open {
		c.Close()
		delete(g.open, c)
	}
}

func (g *gate) accept() {
	for {
		from, err := g.listener.Accept()
		if err != nil {
			return
		}
		go g.forward(from)
	}
}

func (g *gate) forward(from net.Conn) {
	to, err := net.Dial("tcp", g.to)
	if err != nil {
		from.Close()
		return
	}
	g.mu.Lock()
	if g.closed {
		from.Close()
		to.Close()
	}
	g.open[from], g.open[to] = true, true
	g.mu.Unlock()
	go func() { _, _ = to.(*net.TCPConn).ReadFrom(from); to.Close() }()
	_, _ = from.(*net.TCPConn).ReadFrom(to)
	from.Close()
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until a condition holds and returns how long that took.
func eventually(t *testing.T, what string, is func() (bool, string)) time.Duration {
	t.Helper()
	began, last := time.Now(), ""
	for tick := time.NewTicker(2 * time.Millisecond); time.Since(began) < patience; <-tick.C {
		ok, state := is()
		if ok {
			return time.Since(began)
		}
		last = state
	}
	t.Fatalf("not within %s: %s; the last state: %s", patience, what, last)
	return 0
}

// run runs the command and returns what it prints and its status.
func (c *controlPlane) run(t *testing.T, stdin string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	return c.output(t, exec.Command(*writ, args...), stdin)
}

// kubectl runs kubectl with the command as a plugin.
func (c *controlPlane) kubectl(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	folder := t.TempDir()
	check(t, os.Symlink(*writ, filepath.Join(folder, "kubectl-writ")))
	command := exec.Command(filepath.Join(*binaries, "kubectl"), args...)
	command.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
	return c.output(t, command, "")
}

func (c *controlPlane) output(t *testing.T, command *exec.Cmd, stdin string) (stdout, stderr string, status int) {
	t.Helper()
	command.Env = append(command.Environ(), "KUBECONFIG="+filepath.Join(c.dir, "kubeconfig"))
	var out, problems bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(stdin), &out, &problems
	if err := command.Run(); command.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), problems.String(), command.ProcessState.ExitCode()
}

// httpClient is for requests to writ, which answers on loopback.
var httpClient = &http.Client{Timeout: 30 * time.Second}
