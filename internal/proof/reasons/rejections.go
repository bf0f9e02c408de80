package reasons

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
)

// Rejections ask about the claim data, for which volumes are rejected.
func Rejections() []Row {
	gold := With(Available("pv", "12Gi"), func(pv *corev1.PersistentVolume) {
		class := "gold"
		pv.Spec.VolumeAttributesClassName = &class
	})
	late := fake.Class("late", Driver, fake.WaitForFirstConsumer())
	return asking("pvc/data", []Row{
		{Rule: "BIND-058", Candidate: "MATCH-002", Name: "it lacks an access mode",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.Modes("RWX")), Available("pv", "12Gi")}, Actor: Admin},
		{Rule: "BIND-058", Candidate: "MATCH-010", Name: "it is reserved for another",
			Objs: []api.Object{fake.Claim("data", "10Gi"), Available("pv", "12Gi", fake.ForClaim("other"))}, Actor: Admin},
		{Rule: "BIND-058", Candidate: "MATCH-011", Name: "it is too small",
			Objs: []api.Object{fake.Claim("data", "10Gi"), Available("pv", "9Gi")}, Actor: Admin},
		{Rule: "BIND-058", Candidate: "MATCH-012", Name: "it is a block device",
			Objs: []api.Object{fake.Claim("data", "10Gi"), Available("pv", "12Gi", fake.Block())}, Actor: Admin},
		{Rule: "BIND-058", Candidate: "MATCH-013", Name: "it has another attributes class",
			Objs: []api.Object{fake.Claim("data", "10Gi"), gold}, Actor: Admin},
		{Rule: "BIND-058", Candidate: "MATCH-014", Name: "it is being deleted",
			Objs: []api.Object{fake.Claim("data", "10Gi"), Deleting(Available("pv", "12Gi"))}, Actor: Admin},
		{Rule: "BIND-054", Candidate: "MATCH-015", Name: "one that is reserved comes first",
			Objs: []api.Object{fake.Claim("data", "10Gi"), Available("a", "12Gi", fake.ForClaim("data")),
				Available("b", "11Gi", fake.ForClaim("data"))}, When: explain.Automatic, Actor: actors.PersistentVolume},
		{Rule: "BIND-056", Candidate: "MATCH-016", Name: "the claim waits for the scheduler",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.InClass("late")), late, Available("pv", "12Gi", fake.InClass("late"))}, Actor: Admin},
		{Rule: "BIND-058", Candidate: "MATCH-017", Name: "it is Released",
			Objs: []api.Object{fake.Claim("data", "10Gi"), fake.Volume("pv", "12Gi", fake.Phase("Released"))}, Root: "BIND-062",
			When: explain.Automatic, Actor: actors.PersistentVolume},
		{Rule: "BIND-058", Candidate: "MATCH-018", Name: "its labels are not selected",
			Objs: []api.Object{fake.Claim("data", "10Gi", fake.Selector("tier", "gold")), Available("pv", "12Gi")}, Actor: Admin},
		{Rule: "BIND-058", Candidate: "MATCH-019", Name: "it has another class",
			Objs: []api.Object{fake.Claim("data", "10Gi"), Available("pv", "12Gi", fake.InClass("slow"))}, Actor: Admin},
		{Rule: "BIND-054", Candidate: "MATCH-020", Name: "a smaller one fits",
			Objs: []api.Object{fake.Claim("data", "10Gi"), Available("huge", "100Gi"), Available("snug", "12Gi")}, When: explain.Automatic,
			Actor: actors.PersistentVolume},
	})
}
