package main

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
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// server is a system that is a process of its own and is asked over HTTP. Adapters embed it.
type server struct {
	program string
	profile about
	url     string
	header  http.Header // of each request
	client  http.Client
	cmd     *exec.Cmd
	ended   chan error
	// decision is the path and the body of a question, allowed reads the answer.
	decision func(q *question) (path string, body any)
	allowed  func(answer []byte) (bool, error)
}

func newServer(key, program string) server {
	return server{program: program, profile: described(key, program), header: make(http.Header)}
}

func (s *server) about() about { return s.profile }

// freeAddress is an address of the loopback interface on which nothing listens.
func freeAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "127.0.0.1:0"
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// launch starts the program in dir, where its log is, and waits until it answers on the address.
func (s *server) launch(ctx context.Context, dir, address, ready string, args ...string) error {
	s.url, s.client.Timeout = "http://"+address, time.Minute
	file, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	s.cmd, s.ended = exec.Command(s.program, args...), make(chan error, 1)
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.Dir = file, file, dir
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	go func() { s.ended <- s.cmd.Wait() }()
	for {
		if _, err := s.send(http.MethodGet, ready, nil); err == nil {
			return nil
		}
		select {
		case err := <-s.ended:
			s.ended <- err
			text, _ := os.ReadFile(file.Name())
			return fmt.Errorf("ended: %w\n%s", err, text[max(0, len(text)-2000):])
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// send returns the body of the answer, and an error unless the status is 2xx.
func (s *server) send(method, path string, body []byte) ([]byte, error) {
	r, err := http.NewRequest(method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	for name, values := range s.header {
		r.Header[name] = values
	}
	response, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("status %d: %.300s", response.StatusCode, text)
	}
	return text, err
}

// call sends JSON and reads JSON; into may be nil.
func (s *server) call(method, path string, body, into any) error {
	text, err := encode(body)
	if err != nil {
		return err
	}
	answer, err := s.send(method, path, text)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

// callWithin is a POST that is not sent if ctx has ended.
func (s *server) callWithin(ctx context.Context, path string, body any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.call(http.MethodPost, path, body, nil)
}

func encode(body any) ([]byte, error) {
	if text, ok := body.(string); ok {
		return []byte(text), nil
	}
	return json.Marshal(body)
}

func (s *server) decide(q *question) (bool, error) {
	return s.raw(q, func(body []byte) []byte { return body })
}

func (s *server) raw(q *question, edit func([]byte) []byte) (bool, error) {
	path, body := s.decision(q)
	text, err := encode(body)
	if err != nil {
		return false, err
	}
	answer, err := s.send(http.MethodPost, path, edit(text))
	if err != nil {
		return false, err
	}
	return s.allowed(answer)
}

// allowedAt reads a member of the answer by the names on the way to it; the first of a list is
// taken, and "*" is the only member. It allows if it is the given value.
func allowedAt(value any, names ...string) func([]byte) (bool, error) {
	return func(answer []byte) (bool, error) {
		var v any
		if err := json.Unmarshal(answer, &v); err != nil {
			return false, err
		}
		for _, name := range names {
			if list, ok := v.([]any); ok && len(list) > 0 {
				v = list[0]
			}
			object, _ := v.(map[string]any)
			if v = object[name]; name == "*" && len(object) == 1 {
				for _, v = range object {
				}
			}
		}
		if v == nil {
			return false, fmt.Errorf("the answer has no %s: %.200s", strings.Join(names, "."), answer)
		}
		return v == value, nil
	}
}

func (s *server) who(*question) ([]string, error)        { return nil, errNotOffered }
func (s *server) namespaces(*question) ([]string, error) { return nil, errNotOffered }

func (s *server) process() int {
	if s.cmd == nil || s.cmd.Process == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

func (s *server) close() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.ended
	s.client.CloseIdleConnections()
}
