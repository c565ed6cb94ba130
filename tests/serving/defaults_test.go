package serving

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/tests/process"
)

// kubernetesDefaults are the roles and bindings that Kubernetes itself ships, as
// tests/kubernetes exports them.
const kubernetesDefaults = "../kubernetes/testdata/default"

func TestKubernetesDefaultsEndToEnd(t *testing.T) {
	checkDefaults(t)
	address := serve(t, "--policies", kubernetesDefaults)
	for name, row := range map[string]struct {
		user, groups, attributes string
		allowed                  bool
		reason                   string
	}{
		"the scheduler binds pods": {
			"system:kube-scheduler", "", `"verb":"create","resource":"pods","subresource":"binding","namespace":"x"`, true,
			"ClusterRoleBinding system:kube-scheduler",
		},
		"the scheduler reads no secrets": {
			"system:kube-scheduler", "", `"verb":"get","resource":"secrets","namespace":"x"`, false, "no rule allows get secrets in x",
		},
		"masters do anything": {
			"root", "system:masters", `"verb":"escalate","group":"rbac.authorization.k8s.io","resource":"clusterroles"`, true,
			"ClusterRoleBinding cluster-admin",
		},
		"bootstrap signers are local to kube-system": {
			"system:serviceaccount:kube-system:bootstrap-signer", "", `"verb":"get","resource":"secrets","namespace":"kube-system"`, true,
			"RoleBinding kube-system/",
		},
		"and have nothing elsewhere": {
			"system:serviceaccount:kube-system:bootstrap-signer", "", `"verb":"get","resource":"secrets","namespace":"default"`, false, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			groups := "[]"
			if row.groups != "" {
				groups = fmt.Sprintf("[%q]", row.groups)
			}
			allowed, reason := ask(t, address, fmt.Sprintf(`{"user":%q,"groups":%s,"resourceAttributes":{%s}}`, row.user, groups, row.attributes))
			if allowed != row.allowed || !strings.Contains(reason, row.reason) {
				t.Errorf("got %v, %q; want %v, %q", allowed, reason, row.allowed, row.reason)
			}
		})
	}
	t.Run("anybody who is known reads the version", func(t *testing.T) {
		allowed, reason := ask(t, address, `{"user":"u","groups":["system:authenticated"],"nonResourceAttributes":{"verb":"get","path":"/version"}}`)
		if !allowed {
			t.Errorf("got no: %s", reason)
		}
	})
}

func checkDefaults(t *testing.T) {
	t.Helper()
	out, err := exec.Command(process.Writ(t), "check", kubernetesDefaults, "-o", "json").Output()
	if err != nil {
		t.Fatalf("writ check: %v\n%s", err, out)
	}
	var report struct{ Errors int }
	if err := json.Unmarshal(out, &report); err != nil || report.Errors != 0 {
		t.Fatalf("got %+v, %v; want no errors", report, err)
	}
}

// serve starts writ on a free port of this machine, ready when it returns.
func serve(t *testing.T, args ...string) (address string) {
	t.Helper()
	address, _ = startProcess(t, args...)
	return address
}

// startProcess is serve, and returns the process.
func startProcess(t *testing.T, args ...string) (address string, running *os.Process) {
	t.Helper()
	return startProgram(t, process.Writ(t), args...)
}

// startProgram is startProcess for a program that is built in another way.
func startProgram(t *testing.T, program string, args ...string) (address string, running *os.Process) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, program, append([]string{"serve", "--listen", address}, args...)...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = patience
	command.Env = append(os.Environ(), "GOGC=100", "GOMEMLIMIT=off") // as it is used, however the tests are run
	var log bytes.Buffer
	command.Stderr = &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := command.Wait(); err != nil && ctx.Err() == nil {
			t.Errorf("writ serve: %v\n%s", err, log.String())
		}
	})
	deadline := time.Now().Add(patience)
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		if answer, err := encrypted.Get(schemeOf(args) + address + "/readyz"); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return address, command.Process
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("writ serve is not ready\n%s", log.String())
		}
	}
}

// ask sends a review as an API server does.
func ask(t *testing.T, address, spec string) (allowed bool, reason string) {
	t.Helper()
	body := `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","metadata":{},"spec":` + spec + `,"status":{"allowed":false}}`
	answer, err := http.Post("http://"+address+"/apis/authorization.k8s.io/v1/subjectaccessreviews?timeout=30s", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("got %s, %v\n%s", answer.Status, err, text)
	}
	var review struct {
		Status struct {
			Allowed bool
			Reason  string
		}
	}
	if err := json.Unmarshal(text, &review); err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed, review.Status.Reason
}
