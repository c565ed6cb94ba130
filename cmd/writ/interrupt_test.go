package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/cli"
)

// slowPolicies are documents that OPA's compiler needs many seconds for: bodies in the order
// that takes it longest, below the limits of one file, in many files.
func slowPolicies(t *testing.T) string {
	t.Helper()
	var body strings.Builder
	for i := range 190 {
		fmt.Fprintf(&body, "x%d = x%d\n", i, i+1)
	}
	rule := "holds(request, _) if {\n" + body.String() + "x190 = request.user\n}\n"
	dir := policies(t)
	for i := range 30 {
		text := fmt.Sprintf("package writ.extensions.slow%d\n%s", i, strings.Repeat(rule, 4))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("slow%d.rego", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A signal ends commands while OPA's compiler runs, which cannot be interrupted.
func TestSignalEndsCompilation(t *testing.T) {
	dir := slowPolicies(t)
	for _, command := range []string{"check", "build", "serve"} {
		t.Run(command, func(t *testing.T) {
			args := []string{command, dir}
			if command == "build" {
				args = append(args, "-o", filepath.Join(t.TempDir(), "bundle.tar.gz"))
			}
			want, within := exitInterrupted+int(syscall.SIGTERM), 3*time.Second
			if command == "serve" {
				args, want, within = []string{command, "--policies", dir, "--listen", "127.0.0.1:0", "--drain", "0s"}, exitFine, 5*time.Second
			}
			p := start(t, args...)
			if command == "serve" {
				for line := ""; !strings.Contains(line, "msg=listening"); {
					var err error
					if line, err = p.errors.ReadString('\n'); err != nil {
						t.Fatal(err)
					}
				}
			}
			time.Sleep(time.Second) // the compiler does not report that it runs
			began := time.Now()
			if err := p.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			said, _ := io.ReadAll(p.errors)
			_ = p.Wait()
			if took := time.Since(began); took > within {
				t.Errorf("ended after %v, want %v at most", took, within)
			}
			if got := p.ProcessState.ExitCode(); got != want {
				t.Errorf("got exit status %d, want %d; %s", got, want, said)
			}
			// It is silent if the signal arrived before the compiler ran.
			if text := "writ: interrupted\n"; command != "serve" && len(said) > 0 && string(said) != text {
				t.Errorf("got %q, want %q", said, text)
			}
		})
	}
}

// Only a command that drains is waited for.
func TestExecuteWaits(t *testing.T) {
	released := errors.New("released")
	for _, row := range []struct {
		name string
		use  map[string]string
		want error
	}{
		{"a command that does not return", nil, errStuck},
		{"a command that drains", map[string]string{cli.Drains: "true"}, released},
	} {
		t.Run(row.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			release := make(chan struct{})
			time.AfterFunc(2*patience, func() { close(release) })
			root := &cobra.Command{Use: "writ", SilenceErrors: true, SilenceUsage: true}
			root.AddCommand(&cobra.Command{Use: "slow", Annotations: row.use, RunE: func(*cobra.Command, []string) error {
				cancel()
				<-release
				return released
			}})
			root.SetArgs([]string{"slow"})
			if err := execute(ctx, root, []string{"slow"}); !errors.Is(err, row.want) {
				t.Errorf("got %v, want %v", err, row.want)
			}
			<-release
		})
	}
}
