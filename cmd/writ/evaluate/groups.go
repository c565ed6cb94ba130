package evaluate

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/writ-policy/writ/server/decision"
)

// unlikeInCluster counts the answers that an API server would not get, because it adds
// groups to the users of its requests. It is safe for concurrent use.
type unlikeInCluster struct{ asked, unlike atomic.Int64 }

// note decides a request again with the groups that it lacks, if documents name one of them.
func (u *unlikeInCluster) note(ctx context.Context, p decision.Policies, r *decision.Request, answer decision.Answer) {
	u.asked.Add(1)
	if p.Tables().Access().ImpliesGroups() {
		return
	}
	completed := r.WithImpliedGroups()
	if completed == r || decision.HaveOneKey(p, r, completed) {
		return
	}
	if d := p.Access(ctx, completed); d.Settle() != answer.Settle() {
		u.unlike.Add(1)
	}
}

// report writes one line if an answer would differ.
func (u *unlikeInCluster) report(w io.Writer) {
	if n := u.unlike.Load(); n > 0 {
		fmt.Fprintf(w, "note: %d of %d answers would differ with the groups that an API server adds to users, such as system:authenticated: "+
			"--implied-groups kubernetes adds them\n", n, u.asked.Load())
	}
}
