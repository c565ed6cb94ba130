package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// wrkEnd is how wrk states what it has counted: requests, and errors of connecting,
// reading, writing, waiting, and of the status.
const wrkEnd = "wrk counted: "

// attack asks all questions by the command wrk, on 64 connections at full speed, until
// shortly before the load ends. Its answers are counted, not compared.
func (w *work) attack(ctx context.Context, program string, d time.Duration) error {
	script := filepath.Join(w.documents.folder, ".questions.lua") // a name with a dot is not read
	if err := os.WriteFile(script, []byte(wrkScript(questions())), 0o600); err != nil {
		return err
	}
	seconds := max(1, int((d-d/20)/time.Second))
	out, err := exec.CommandContext(ctx, program, "-t2", "-c64", fmt.Sprintf("-d%ds", seconds), "--timeout", "15s", "-s", script, "http://"+w.address).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, out)
	}
	_, counted, _ := strings.Cut(string(out), wrkEnd)
	var requests, failed [5]int
	if n, _ := fmt.Sscan(counted, &requests[0], &failed[0], &failed[1], &failed[2], &failed[3], &failed[4]); n != 6 || requests[0] == 0 {
		return fmt.Errorf("%s counted no requests: %s", program, out)
	}
	w.report.wrkAnswers = requests[0]
	for i, name := range [...]string{"connections", "reads", "writes", "timeouts", "statuses"} {
		if failed[i] > 0 {
			w.report.fail(fmt.Errorf("wrk: %d failed %s", failed[i], name))
		}
	}
	return nil
}

// wrkScript is a program for wrk, which sends the questions in turn.
func wrkScript(all []question) string {
	var b strings.Builder
	b.WriteString("local all, at = {}, 0\nfunction init()\n")
	for _, q := range all {
		fmt.Fprintf(&b, "  table.insert(all, wrk.format('POST', '%s', {['Content-Type'] = 'application/json'}, '%s'))\n", q.path, q.body)
	}
	b.WriteString("end\nfunction request()\n  at = at % #all + 1\n  return all[at]\nend\nfunction done(summary)\n  local e = summary.errors\n")
	fmt.Fprintf(&b, "  print('%s' .. table.concat({summary.requests, e.connect, e.read, e.write, e.timeout, e.status}, ' '))\nend\n", wrkEnd)
	return b.String()
}
