"""MJCF's keyframes: where a model starts."""
from .errors import ImportProblem
from .rotations import Pose, from_quaternion


class Keyframes:
    def __init__(self, root, robot):
        self.robot, self.keys = robot, []
        for section in root.all("keyframe"):
            section.check_children(("key",), {}, None)
            self.keys += section.all("key")

    def apply(self, wanted, report):
        """Sets the start to that of the key of this name; reports the others."""
        chosen = None
        for key in self.keys:
            if wanted is not None and key.text("name") == wanted:
                chosen = key
            else:
                key.read.update(key.attributes)
                report.add("left out", f"key {key.text('name')!r} (--keyframe)", key.where)
        if wanted is None:
            return
        if chosen is None:
            raise ImportProblem("--keyframe", f"there is no key {wanted!r}",
                                "known are " + ", ".join(str(key.text("name")) for key in self.keys))
        self._set_coordinates(chosen)

    def _set_coordinates(self, key):
        """qpos: joints in the order of the bodies; 7 numbers of a free one, 4 of a ball, else 1."""
        count = sum(7 * link.free + sum(4 if joint.kind == "spherical" else 1 for joint in link.joints)
                    for link in self.robot.links)
        key.required("qpos")
        numbers = list(key.numbers("qpos", count))

        def take(n):
            taken = numbers[:n]
            del numbers[:n]
            return taken

        for link in self.robot.links:
            if link.free:
                place, quaternion = take(3), take(4)
                link.offset = Pose(place, self._rotation(key, quaternion))
            for joint in link.joints:
                if joint.kind == "spherical":
                    joint.turn = self._rotation(key, take(4))
                else:
                    joint.value = take(1)[0]

    @staticmethod
    def _rotation(key, quaternion):
        if not any(quaternion):
            key.fail("qpos has a quaternion of zeros", "give a rotation")
        return from_quaternion(*quaternion)
