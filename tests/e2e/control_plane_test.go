package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

var (
	binaries = flag.String("bin", "", "folder of etcd, kube-apiserver and kubectl")
	writ     = flag.String("writ", "", "the built command")
	outage   = flag.Duration("outage", time.Minute, "for how long the API server is gone")
	bindings = flag.Int("bindings", 10_000, "bindings in the cluster")
)

const (
	adminToken = "admin-token"
	writToken  = "writ-token"
	patience   = 2 * time.Minute
)

// controlPlane is an API server with its store. Clients of writ reach it through a gate that
// a test closes.
type controlPlane struct {
	whole                 *testing.T // at whose end the processes end
	authorization         []string   // flags of the API server
	dir, etcdURL, address string
	api                   *exec.Cmd
	gate                  *gate
	config                *rest.Config
	clients               *kubernetes.Clientset
	objects               *dynamic.DynamicClient
}

func startControlPlane(t *testing.T) *controlPlane {
	t.Helper()
	if *binaries == "" || *writ == "" {
		t.Fatal("-bin and -writ are required; use make e2e-kubernetes")
	}
	c := &controlPlane{whole: t, authorization: []string{"--authorization-mode", "RBAC"}, dir: t.TempDir(), address: freeAddress(t)}
	c.etcdURL = "http://" + freeAddress(t)
	peer := "http://" + freeAddress(t)
	c.start(t, "etcd", "--data-dir", filepath.Join(c.dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", c.etcdURL, "--advertise-client-urls", c.etcdURL,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	check(t, err)
	c.write(t, "sa.key", pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	tokens := fmt.Appendf(nil, "%s,admin,1,system:masters\n%s,writ,2\n", adminToken, writToken)
	for i, user := range []string{"ann", "bob", "dave", "system:kube-scheduler"} {
		tokens = fmt.Appendf(tokens, "token-of-%s,%s,%d\n", user, user, 3+i)
	}
	c.write(t, "tokens.csv", tokens)
	c.config = &rest.Config{
		Host: "https://" + c.address, BearerToken: adminToken, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}
	c.clients, err = kubernetes.NewForConfig(c.config)
	check(t, err)
	c.objects, err = dynamic.NewForConfig(c.config)
	check(t, err)
	c.startAPI(t)
	c.gate = openGate(t, c.address)
	return c
}

// startAPI starts the API server and waits until it is ready.
func (c *controlPlane) startAPI(t *testing.T) {
	t.Helper()
	_, port, err := net.SplitHostPort(c.address)
	check(t, err)
	sa := filepath.Join(c.dir, "sa.key")
	c.api = c.start(t, "kube-apiserver", append([]string{"--etcd-servers", c.etcdURL, "--bind-address", "127.0.0.1", "--secure-port", port,
		"--cert-dir", filepath.Join(c.dir, "certs"), "--token-auth-file", filepath.Join(c.dir, "tokens.csv"),
		"--service-account-key-file", sa, "--service-account-signing-key-file", sa, "--service-account-issuer", "https://kubernetes.default.svc",
		"--service-cluster-ip-range", "10.0.0.0/24", "--disable-admission-plugins", "ServiceAccount", "--etcd-compaction-interval", "0"}, c.authorization...)...)
	eventually(t, "the API server is ready", func() (bool, string) {
		body, err := c.clients.RESTClient().Get().AbsPath("/readyz").DoRaw(context.Background())
		return err == nil, string(body) + fmt.Sprint(err)
	})
}

func (c *controlPlane) stopAPI(t *testing.T) {
	t.Helper()
	_ = c.api.Process.Kill() // as a machine that loses its power
	_ = c.api.Wait()
}

// start starts a program until the end of the whole test. Its log is in the folder of the test.
func (c *controlPlane) start(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	return c.startProgram(t, filepath.Join(*binaries, name), args...)
}

// writ starts the command.
func (c *controlPlane) writ(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return c.startProgram(t, *writ, args...)
}

func (c *controlPlane) startProgram(t *testing.T, path string, args ...string) *exec.Cmd {
	t.Helper()
	name := filepath.Base(path)
	log, err := os.OpenFile(filepath.Join(c.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	check(t, err)
	command := exec.Command(path, args...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	check(t, command.Start())
	c.whole.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		log.Close()
		if c.whole.Failed() {
			content, _ := os.ReadFile(log.Name())
			t.Logf("the last lines of %s:\n%s", name, lastLines(content, 15))
		}
	})
	return command
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
	return c.write(t, "kubeconfig", fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://%s", insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: %s}}, {name: writ, user: {token: %s}}]
contexts: [{name: admin, context: {cluster: c, user: admin}}, {name: writ, context: {cluster: c, user: writ}}]
current-context: writ
`, c.gate.address(), adminToken, writToken))
}

// compact drops the history of the store, so that no watch can be continued from it.
func (c *controlPlane) compact(t *testing.T) {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{c.etcdURL}, DialTimeout: 5 * time.Second})
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
