package main

import (
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// server is a writ process on loopback.
type server struct {
	command *exec.Cmd
	address string
	exited  chan struct{}
}

// startServer starts a server and waits until it is ready.
func startServer(writ, policies string) (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, err
	}
	s := &server{exec.Command(writ, "serve", "--policies", policies, "--listen", address, "--log-level", "error"), address, make(chan struct{})}
	s.command.Env = without(os.Environ(), "GOGC", "GOMEMLIMIT") // the server collects garbage as in production
	s.command.Stderr = os.Stderr
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = s.command.Wait()
		close(s.exited)
	}()
	client := http.Client{Timeout: time.Second}
	for began := time.Now(); time.Since(began) < time.Minute && !s.hasExited(); time.Sleep(20 * time.Millisecond) {
		answer, err := client.Get("http://" + address + "/readyz")
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return s, nil
			}
		}
	}
	s.stop()
	return nil, errors.New("the server is not ready within a minute")
}

// without is an environment that lacks a variable.
func without(environment []string, names ...string) []string {
	var kept []string
	for _, variable := range environment {
		if name, _, _ := strings.Cut(variable, "="); !slices.Contains(names, name) {
			kept = append(kept, variable)
		}
	}
	return kept
}

func (s *server) stop() {
	_ = s.command.Process.Kill()
	<-s.exited
}

func (s *server) hasExited() bool {
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}
