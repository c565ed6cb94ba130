// Command cluster runs etcd and kube-apiserver until it is interrupted, and prints how to reach
// them. The API server reads its authorizers from a file, which names Node and RBAC at first:
// writ is added to it while the API server is running. Nothing of an earlier run is kept.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/writ-policy/writ/tests/e2e/controlplane"
)

// authorizers is the file without writ.
//
//go:embed authorization.yaml
var authorizers []byte

// patience bounds the start, which takes seconds on a quiet machine.
const patience = 2 * time.Minute

func main() {
	programs := flag.String("bin", "", "`folder` of etcd, kube-apiserver and kubectl")
	dir := flag.String("dir", "", "`folder` of data, logs and credentials, which is emptied")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, os.Stdout, *programs, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// run returns after ctx is done, or with an error when a program ends before.
func run(ctx context.Context, out io.Writer, programs, dir string) error {
	if programs == "" || dir == "" {
		return errors.New("-bin and -dir are required; use make cluster")
	}
	chain := filepath.Join(dir, "writ")
	if err := errors.Join(empty(dir), os.MkdirAll(chain, 0o700)); err != nil {
		return err
	}
	authorization := filepath.Join(chain, "authorization.yaml")
	if err := os.WriteFile(authorization, authorizers, 0o600); err != nil {
		return err
	}
	fmt.Fprintln(out, "etcd and kube-apiserver start, which takes seconds; their logs are in", dir)
	began := time.Now()
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p, err := controlplane.Start(within, controlplane.Options{
		Programs: programs, Dir: dir, Flags: []string{"--authorization-config", authorization},
	})
	switch {
	case ctx.Err() != nil:
		return nil // interrupted meanwhile
	case err != nil:
		return fmt.Errorf("%w; %s", err, filepath.Join(dir, "kube-apiserver.log"))
	}
	defer p.Close()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, p.Kubeconfig(p.Address, "admin"), 0o600); err != nil {
		return err
	}
	version, err := p.Clients.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, ready, version.GitVersion, p.Address, time.Since(began).Round(time.Second/10), kubeconfig, filepath.Dir(programs), programs, authorization)
	select {
	case <-ctx.Done():
		fmt.Fprintln(out, "\nkube-apiserver and etcd are stopped.")
		return nil
	case <-p.Ended():
		return errors.New("etcd or kube-apiserver ended; see the logs in " + dir)
	}
}

// ready is printed when the API server answers.
const ready = `
Kubernetes %s is ready at https://%s after %s. In another terminal:

  export KUBECONFIG=%s
  export PATH=%s:%s:$PATH
  kubectl get namespaces
  kubectl auth can-i get pods --as alice

It has no nodes and no controllers: objects are stored, and no pod is ever started. It asks
Node and RBAC; docs/webhook.md adds writ to its authorizers, in this file:

  %s

Ctrl-C stops everything. Nothing is kept.
`

// empty removes what an earlier run has left. A folder of anybody else is refused.
func empty(dir string) error {
	found, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	for _, entry := range found {
		if name := entry.Name(); !strings.HasSuffix(name, ".log") && !known[name] {
			return fmt.Errorf("%s has %s, which is not of a cluster; name another folder", dir, name)
		}
	}
	return os.RemoveAll(dir)
}

var known = map[string]bool{"etcd": true, "certs": true, "writ": true, "kubeconfig": true, "sa.key": true, "tokens.csv": true}
