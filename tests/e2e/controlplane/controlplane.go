// Package controlplane runs etcd and kube-apiserver as processes of this machine. The input is
// the folder of the programs and an empty folder for data, logs and credentials; the output is
// an API server that answers. It knows nothing of writ.
package controlplane

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Options describe a control plane. Programs and Dir are required.
type Options struct {
	// Programs is the folder of etcd and kube-apiserver.
	Programs string
	// Dir is an existing folder for data, logs and credentials.
	Dir string
	// Flags are further flags of the API server, those that name its authorizers among them.
	// They may be changed before StartAPI.
	Flags []string
	// Users have a token each beside those of the kubeconfig: "token-of-" and the name. They
	// are for tests.
	Users []string
}

// Plane is an API server with its store. Its methods must be called by one goroutine.
type Plane struct {
	Options
	// Address and Etcd are where the API server and its store listen: HOST:PORT, and a URL.
	Address, Etcd string
	// Config and Clients act as an administrator, whom no authorizer is asked about.
	Config  *rest.Config
	Clients *kubernetes.Clientset

	writToken  string
	etcd, api  *Process
	serverCert string
}

// Start starts etcd and kube-apiserver, and returns when the API server is ready. It returns
// an error if a program ends, or if ctx is done before.
func Start(ctx context.Context, o Options) (*Plane, error) {
	p := &Plane{Options: o, writToken: rand.Text(), serverCert: filepath.Join(o.Dir, "certs", "apiserver.crt")}
	if err := p.prepare(); err != nil {
		return nil, err
	}
	peer, err := freeAddress()
	if err != nil {
		return nil, err
	}
	peer = "http://" + peer
	p.etcd, err = StartProcess(o.Dir, filepath.Join(o.Programs, "etcd"), "--data-dir", filepath.Join(o.Dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", p.Etcd, "--advertise-client-urls", p.Etcd,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	if err != nil {
		return nil, err
	}
	if err := p.StartAPI(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// prepare chooses addresses and writes the credentials of the API server.
func (p *Plane) prepare() (err error) {
	if p.Address, err = freeAddress(); err != nil {
		return err
	}
	if p.Etcd, err = freeAddress(); err != nil {
		return err
	}
	p.Etcd = "http://" + p.Etcd
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	admin := rand.Text()
	tokens := fmt.Appendf(nil, "%s,admin,1,system:masters\n%s,writ,2\n", admin, p.writToken)
	for i, user := range p.Users {
		tokens = fmt.Appendf(tokens, "token-of-%s,%s,%d\n", user, user, 3+i)
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := errors.Join(p.write("sa.key", private), p.write("tokens.csv", tokens)); err != nil {
		return err
	}
	p.Config = &rest.Config{
		Host: "https://" + p.Address, BearerToken: admin, QPS: -1, Timeout: 30 * time.Second,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}, // it makes its certificate when it starts
	}
	p.Clients, err = kubernetes.NewForConfig(p.Config)
	return err
}

func (p *Plane) write(name string, content []byte) error {
	return os.WriteFile(filepath.Join(p.Dir, name), content, 0o600)
}

// flags returns all flags of the API server.
func (p *Plane) flags() []string {
	_, port, _ := net.SplitHostPort(p.Address)
	sa := filepath.Join(p.Dir, "sa.key")
	return append([]string{"--etcd-servers", p.Etcd, "--bind-address", "127.0.0.1", "--secure-port", port,
		"--cert-dir", filepath.Dir(p.serverCert), "--token-auth-file", filepath.Join(p.Dir, "tokens.csv"),
		"--service-account-key-file", sa, "--service-account-signing-key-file", sa, "--service-account-issuer", "https://kubernetes.default.svc",
		"--service-cluster-ip-range", "10.0.0.0/24", "--disable-admission-plugins", "ServiceAccount", "--etcd-compaction-interval", "0"}, p.Flags...)
}

// StartAPI starts the API server and waits until it is ready. It returns an error if the
// program ends, or if ctx is done before.
func (p *Plane) StartAPI(ctx context.Context) (err error) {
	if p.api, err = StartProcess(p.Dir, filepath.Join(p.Programs, "kube-apiserver"), p.flags()...); err != nil {
		return err
	}
	ended := p.Ended()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		body, err := p.Clients.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kube-apiserver is not ready: %w: %s", err, body)
		case <-ended:
			return fmt.Errorf("etcd or kube-apiserver ended before it was ready: %s", p.api.LastLines(1))
		case <-ticker.C:
		}
	}
}

// Ended returns a channel that is closed when etcd or the API server ends.
func (p *Plane) Ended() <-chan struct{} {
	either := make(chan struct{})
	go func() {
		select {
		case <-p.etcd.Done:
		case <-p.api.Done:
		}
		close(either)
	}()
	return either
}

// API is the process of the API server.
func (p *Plane) API() *Process { return p.api }

// Close ends the programs. Their data and logs stay.
func (p *Plane) Close() {
	for _, process := range []*Process{p.api, p.etcd} {
		if process != nil {
			process.Kill()
		}
	}
}

// Kubeconfig returns a kubeconfig for an address that leads to the API server, with the
// contexts admin and writ, of which current is used if none is named.
func (p *Plane) Kubeconfig(address, current string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://%s", certificate-authority: %q}}]
users: [{name: admin, user: {token: %s}}, {name: writ, user: {token: %s}}]
contexts: [{name: admin, context: {cluster: c, user: admin}}, {name: writ, context: {cluster: c, user: writ}}]
current-context: %s
`, address, p.serverCert, p.Config.BearerToken, p.writToken, current)
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
