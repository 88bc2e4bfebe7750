from wire.around.pace import Pace as Pace
