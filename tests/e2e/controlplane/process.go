package controlplane

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Process is a running program.
type Process struct {
	// Done is closed when the program has ended.
	Done <-chan struct{}
	// Log is the file of what it prints.
	Log string

	command *exec.Cmd
}

// StartProcess starts a program, whose output is appended to a file in dir. It ends with the
// calling process at the latest, and does not get the signals of its terminal.
func StartProcess(dir, path string, args ...string) (*Process, error) {
	name := filepath.Join(dir, filepath.Base(path)+".log")
	log, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	command := exec.Command(path, args...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := command.Start(); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		_ = command.Wait() // it is killed
		close(done)
	}()
	return &Process{Done: done, Log: name, command: command}, nil
}

// Kill ends the program as a machine that loses its power, and waits until it has ended.
func (p *Process) Kill() {
	_ = p.command.Process.Kill() // or it has ended
	<-p.Done
}

// Signal sends a signal to the program.
func (p *Process) Signal(s syscall.Signal) error { return p.command.Process.Signal(s) }

// LastLines returns the last lines of what the program printed.
func (p *Process) LastLines(n int) string {
	content, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
