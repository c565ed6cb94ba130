package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// server is a running `writ serve`.
type server struct {
	url string
	pid int

	mu  sync.Mutex
	log bytes.Buffer
}

var listening = regexp.MustCompile(`msg=listening address=(\S+)`)

// serve starts writ with sources until the end of the test.
func (c *controlPlane) serve(t *testing.T, args ...string) *server {
	t.Helper()
	command := exec.Command(*writ, append([]string{"serve", "--listen", "127.0.0.1:0", "--rescan", "2s"}, args...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(c.dir, "kubeconfig"))
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := command.StderrPipe()
	check(t, err)
	check(t, command.Start())
	s, address := &server{pid: command.Process.Pid}, make(chan string, 1)
	done := make(chan struct{})
	go s.read(stderr, address, done)
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		<-done
		check(t, command.Wait())
		if t.Failed() {
			t.Logf("the log of writ:\n%s", lastLines(s.log.Bytes(), 40))
		}
	})
	select {
	case a := <-address:
		s.url = "http://" + a
	case <-time.After(patience):
		t.Fatal("writ does not listen")
	}
	return s
}

func (s *server) read(r io.Reader, address chan<- string, done chan<- struct{}) {
	defer close(done)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		s.mu.Lock()
		s.log.Write(append(lines.Bytes(), '\n'))
		s.mu.Unlock()
		if found := listening.FindSubmatch(lines.Bytes()); found != nil {
			address <- string(found[1])
		}
	}
}

// status is the part of GET /v1/status that the tests read.
type status struct {
	Ready       bool
	Degraded    bool
	LastSuccess time.Time
	Revision    string
	LastError   string
	Errors      int
	Bundle      struct{ Counts map[string]int }
	Sources     []sourceStatus
}

type sourceStatus struct {
	Location string
	Files    int
	Stale    float64 `json:"staleSeconds"`
	Error    string
	Unserved []string
}

func (s *server) status(t *testing.T) (text string, st status) {
	t.Helper()
	response, err := httpClient.Get(s.url + "/v1/status")
	check(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	check(t, err)
	check(t, json.Unmarshal(body, &st))
	return string(body), st
}

// ready waits until the documents are active and returns how long that took.
func (s *server) ready(t *testing.T) time.Duration {
	t.Helper()
	return eventually(t, "writ is ready", func() (bool, string) {
		text, st := s.status(t)
		return st.Ready && !st.Degraded, text
	})
}

// review asks writ as an API server does.
func (s *server) review(t *testing.T, spec authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
	t.Helper()
	review := authorizationv1.SubjectAccessReview{Spec: spec}
	review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SubjectAccessReview"
	body, err := json.Marshal(review)
	check(t, err)
	response, err := httpClient.Post(s.url+"/apis/authorization.k8s.io/v1/subjectaccessreviews", "application/json", bytes.NewReader(body))
	check(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	check(t, err)
	var got authorizationv1.SubjectAccessReview
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	return got.Status
}

// cpu returns the processor time that writ has taken.
func (s *server) cpu(t *testing.T) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid))
	check(t, err)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var ticks time.Duration
	for _, field := range fields[11:13] { // of the process and of the kernel for it, see proc(5)
		n, err := strconv.Atoi(field)
		check(t, err)
		ticks += time.Duration(n)
	}
	return ticks * 10 * time.Millisecond
}

// may asks whether a user may do something in a namespace.
func (s *server) may(t *testing.T, user, verb, group, resource, namespace string) bool {
	t.Helper()
	return s.review(t, question(user, verb, group, resource, namespace)).Allowed
}

func question(user, verb, group, resource, namespace string) authorizationv1.SubjectAccessReviewSpec {
	return authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
		Verb: verb, Group: group, Resource: resource, Namespace: namespace,
	}}
}
